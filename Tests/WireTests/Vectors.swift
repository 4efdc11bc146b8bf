import Foundation
import Testing
import Wire

/// A golden frame of `Vectors/*.txt`: blocks of a name, a meaning, and lines of hexadecimal.
struct Vector: Sendable, CustomStringConvertible {
  var name: String
  var meaning: String
  var frame: [UInt8]
  var description: String { name }

  /// The files are part of the sources: one that is missing or malformed ends the run, and so each `!` is safe.
  static let all: [Vector] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")
    // The folder is part of the sources.
    let files = try! FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return files.sorted { $0.path < $1.path }.flatMap { file in
      try! String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n\n").map(Vector.init(block:))
    }
  }()

  private init(block: String) {
    let lines = block.split(separator: "\n")
    name = String(lines[0])
    meaning = String(lines[1])
    // The vectors are part of the sources: a malformed one ends the run.
    frame = lines[2...].flatMap { $0.split(separator: " ") }.map { UInt8($0, radix: 16)! }
  }
}

extension [UInt8] {
  /// The frame at the start, or nil if more is needed.
  func head() throws(WireError) -> FrameHead? { try FrameHead.next(in: span.bytes) }

  /// The body of the one frame that these bytes are.
  var body: [UInt8] {
    // Asked only of frames that were just encoded.
    let head = try! head()!
    return Array(self[head.body])
  }
}

/// Fields of a frame by hand, for values that the encoder refuses to write.
enum Raw {
  static func varint(_ value: UInt64) -> [UInt8] {
    var sink = ArraySink()
    sink.put(varint: value)
    return sink.bytes
  }

  static func count(_ value: Int) -> [UInt8] { varint(UInt64(value)) }

  static func bytes(_ count: Int, of byte: UInt8 = 0x61) -> [UInt8] {
    Raw.count(count) + [UInt8](repeating: byte, count: count)
  }

  static func list(_ count: Int, of item: [UInt8]) -> [UInt8] {
    Raw.count(count) + Array([[UInt8]](repeating: item, count: count).joined())
  }

  static func part(_ part: some Part) -> [UInt8] {
    var sink = ArraySink()
    part.encode(into: &sink)
    return sink.bytes
  }
}

/// The rule that a piece of work breaks, or nil if it breaks none.
func broken(_ work: () throws -> Void) -> WireError.Rule? {
  do {
    try work()
    return nil
  } catch let error as WireError {
    return error.rule
  } catch {
    Issue.record(error, "Wire throws nothing but WireError")
    return nil
  }
}
