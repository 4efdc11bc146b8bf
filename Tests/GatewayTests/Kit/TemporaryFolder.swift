internal import FoundationEssentials
internal import Glibc

/// A folder of a test's own, which goes with it.
final class TemporaryFolder {
  let path: String

  init() {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/vicinity-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("a temporary folder cannot be made: errno \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func bytes(of name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { [UInt8]($0) } ?? []
  }

  /// Keeps the mode of a file that is there.
  func write(_ bytes: [UInt8], to name: String) throws {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
  }
}
