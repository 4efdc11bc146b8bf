/// The way of a long content past the library: from the tunnel straight to the exchange.
///
/// The tunnel and the library's connection share it. The library has been given the content's first piece, and stands still
/// until all the rest has gone by here; then it hears that the content has ended.
final class Bypass {
  /// What is longer goes by here: the library reads in small pieces, and each goes through two sockets. It is more than a
  /// tunnel reads at once, and than is read only to be thrown away.
  static let bytesMin = 1 << 20

  /// Tells the tunnel to look again.
  var changed: () -> Void = {}
  /// Takes the client's connection from the tunnel; nil where that is over.
  var takeOver: () -> Tunnel.Handover? = { nil }
  /// How many of its bytes go through the library.
  private var inside: Int?
  /// Whose content goes by.
  private var exchange: Exchange?
  /// Since it took nothing.
  private var isFull = false

  /// Whether more may be read for it.
  var isFree: Bool { exchange != nil && !isFull }

  // MARK: The tunnel's side

  func begins(after count: Int) { inside = count }

  /// Lets `read` bring the next bytes right to where they are kept, or else into the scratch: once, with at most as much
  /// room as that has, or not at all where nothing is taken now.
  func fill(_ scratch: UnsafeMutableRawBufferPointer, by read: (UnsafeMutableRawBufferPointer) -> Int) {
    isFull = true
    if let exchange, exchange.takeBeside(scratch, by: read) { isFull = false }
  }

  /// All has been taken.
  func end() {
    inside = nil
    exchange.take()?.endBeside()
  }

  // MARK: The exchange's side

  /// Whether the rest of a content goes by here, once so much of it was taken.
  func isNext(after count: Int) -> Bool { inside == count }

  func open(for exchange: Exchange) {
    self.exchange = exchange
    changed()
  }

  /// More is taken than before.
  func resume() {
    isFull = false
    changed()
  }

  func close() {
    exchange = nil
  }
}
