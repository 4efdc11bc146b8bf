package import Reactor

/// A response to a request.
///
/// `Content-Length`, `Transfer-Encoding`, `Connection` and `Date` are the server's to set. A response to `HEAD` has no
/// body, but its length all the same.
package struct Response {
  package enum Body {
    case none
    case bytes([UInt8])
    /// A part of a file, sent by the kernel straight from the file.
    case file(FilePart)
    /// A stream of bytes; in chunked coding where the length is unknown.
    case source(any BodySource, length: Int?)
  }

  package var status: Int
  package var headers = Headers()
  package var body: Body
  /// Whether the connection ends after this response.
  package var closes = false

  /// The known length of the body before it is sent; a source's bytes are counted as they are sent.
  var knownByteCount: Int {
    switch body {
    case .none, .source: 0
    case .bytes(let bytes): bytes.count
    case .file(let part): part.length
    }
  }

  /// The body's bytes in memory until they are sent.
  var bytesInMemory: Int { if case .bytes(let bytes) = body { bytes.count } else { 0 } }

  package init(_ status: Int, _ body: Body = .none) {
    self.status = status
    self.body = body
  }
}

/// A part of an open file.
package final class FilePart {
  package let offset: Int
  package let length: Int
  let file: Descriptor

  /// The file must not become shorter while it is sent; if it does, the connection is cut.
  package init(_ file: consuming Descriptor, offset: Int, length: Int) {
    precondition(offset >= 0 && length >= 0, "a file has no part of \(length) bytes at \(offset)")
    self.file = file
    self.offset = offset
    self.length = length
  }
}

/// A source of a response's body, pulled as the client takes it.
package protocol BodySource: AnyObject {
  /// Writes as much as there is into the room.
  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled
}

package enum Pulled {
  /// The number of bytes, at least one.
  case wrote(Int)
  /// Nothing now: pulled again after `Exchange.wake()`.
  case nothingYet
  case end
  /// The body is incomplete: the connection is cut, so that the client sees that it is.
  case failed
}
