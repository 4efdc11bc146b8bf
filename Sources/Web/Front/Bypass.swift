/// The path of a long content past the library: from the tunnel straight to the exchange.
///
/// The tunnel and the library's connection share it. The library gets the content's first piece, and waits until all
/// the rest has gone this way; then it gets the end of the content.
final class Bypass {
  /// A longer content uses the bypass: the library reads in small pieces, and each goes through two sockets. It is more
  /// than a tunnel reads at once, and than is read only to be discarded.
  static let bytesMin = 1 << 20

  /// Makes the tunnel check again.
  var changed: () -> Void = {}
  /// Takes the client's connection from the tunnel; nil where the tunnel is over.
  var takeOver: () -> Tunnel.Handover? = { nil }
  /// The number of content bytes that go through the library.
  private var inside: Int?
  /// The exchange whose content uses the bypass.
  private var exchange: Exchange?
  /// Whether the exchange took nothing at the last read.
  private var isFull = false

  /// Whether more may be read for the exchange.
  var isFree: Bool { exchange != nil && !isFull }

  // MARK: The tunnel's side

  func begin(after count: Int) { inside = count }

  /// Reads the next bytes with `read` right to where they are kept, or else into the scratch: once, with at most as
  /// much room as that has, or not at all where nothing is taken now.
  func fill(_ scratch: UnsafeMutableRawBufferPointer, by read: (UnsafeMutableRawBufferPointer) -> Int) {
    isFull = true
    if let exchange, exchange.takeBypassed(scratch, by: read) { isFull = false }
  }

  /// The exchange has taken all bytes.
  func end() {
    inside = nil
    exchange.take()?.endBypass()
  }

  // MARK: The exchange's side

  /// Whether the rest of a content uses the bypass, once so many bytes of it were taken.
  func isNext(after count: Int) -> Bool { inside == count }

  func open(for exchange: Exchange) {
    self.exchange = exchange
    changed()
  }

  /// The exchange can take more again.
  func resume() {
    isFull = false
    changed()
  }

  func close() {
    exchange = nil
  }
}
