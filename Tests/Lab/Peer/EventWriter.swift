internal import FoundationEssentials
internal import Glibc
internal import Nearby
internal import Synchronization

/// Tells events on standard output.
enum EventWriter {
  /// One line at a time. Not by the C library's streams: those wait for each other, and one of them for the next line.
  private static let turn = Mutex(())

  static func tell(_ event: String, _ members: [String: String] = [:]) {
    var object = members
    object["event"] = event
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let line = try? encoder.encode(object) else { return }
    turn.withLock { _ in
      var rest = Array(line)[...] + [UInt8(ascii: "\n")]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }

  static func tell(_ event: String, _ member: Member, on session: String, _ more: [String: String] = [:]) {
    let of = ["on": session, "peer": member.peer.text, "name": member.name]
    tell(event, of.merging(more) { $1 })
  }

  /// Prints the failure of a command.
  static func tell(_ error: any Error, of command: String) {
    var members = ["command": command, "text": "\(error)"]
    if let error = error as? NearbyError {
      members["code"] = "\(error.code)"
      members["reason"] = error.reason?.description
      members["endpoints"] = error.endpoints.map(\.text).joined(separator: " ")
    }
    tell("failed", members)
  }
}

/// The error for a line that is no command.
struct Misunderstanding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
