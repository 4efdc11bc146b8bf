package import Reactor

/// What a request is answered with.
///
/// `Content-Length`, `Transfer-Encoding`, `Connection` and `Date` are the server's to set. To a `HEAD` request the body
/// is not sent, and its length is told all the same.
package struct Response {
  package enum Body {
    case none
    case bytes([UInt8])
    /// A part of a file, sent by the kernel from where it lies.
    case file(FilePart)
    /// What comes bit by bit; in chunks where no length is known.
    case source(any BodySource, length: Int?)
  }

  package var status: Int
  package var headers = Headers()
  package var body: Body
  /// Whether the connection ends after it.
  package var closes = false

  /// What is known of its body's length before it goes out; a source's bytes are counted as they do.
  var knownByteCount: Int {
    switch body {
    case .none, .source: 0
    case .bytes(let bytes): bytes.count
    case .file(let part): part.length
    }
  }

  /// What it has in memory until it has gone out.
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

/// Gives a response's body as the client takes it.
package protocol BodySource: AnyObject {
  /// Writes into the room as much as there is.
  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled
}

package enum Pulled {
  /// So many bytes, at least one.
  case wrote(Int)
  /// Nothing now: asked again after `Exchange.wake()`.
  case nothingYet
  case end
  /// The body cannot be had whole: the connection is cut, so that the client sees that it is not.
  case failed
}
