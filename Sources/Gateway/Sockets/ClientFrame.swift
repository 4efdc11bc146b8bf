internal import Notation

/// A frame of a client: a line of JSON, and in a binary message a newline and the bytes behind it.
struct ClientFrame {
  /// Nil in a binary message without a newline.
  private let line: [UInt8]?
  /// Nil in a text message.
  let body: [UInt8]?

  init(line: [UInt8]) { (self.line, body) = (line, nil) }

  init(binary message: UnsafeRawBufferPointer) {
    let end = message.firstIndex(of: UInt8(ascii: "\n"))
    line = end.map { Array(message[..<$0]) }
    body = end.map { Array(message[($0 + 1)...]) } ?? []
  }

  func json() throws(Problem) -> JSON {
    guard let line else {
      throw Problem(
        .badRequest, "a binary message is a frame as a line of JSON, a newline and bytes: this one has no newline")
    }
    do {
      return try JSON(parsing: line)
    } catch {
      throw Problem(.badRequest, "the frame is no JSON: \(error)")
    }
  }
}
