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
  /// The length of a content whose exchange does not know it yet.
  private var announced: Int?
  /// How many of its bytes go through the library.
  private var inside: Int?
  /// Whose content goes by.
  private var exchange: Exchange?
  /// What was not taken.
  private var waiting: [UInt8] = []
  private var mayOffer = false

  /// Whether more may be read for it.
  var isFree: Bool { exchange != nil && waiting.isEmpty }

  // MARK: The tunnel's side

  func announce(_ count: Int) { announced = count }

  func begins(after count: Int) { inside = count }

  /// Offers again what was not taken; whether it is free then.
  func offer() -> Bool {
    if !waiting.isEmpty, mayOffer {
      let bytes = waiting
      bytes.withUnsafeBytes { give($0) }
    }
    return isFree
  }

  /// The next bytes.
  func give(_ bytes: UnsafeRawBufferPointer) {
    mayOffer = false
    let taken = exchange?.takeBeside(bytes) ?? bytes.count
    waiting = Array(bytes[taken...])
  }

  /// All has been taken.
  func end() {
    inside = nil
    exchange.take()?.endBeside()
  }

  // MARK: The exchange's side

  /// Of the request that begins.
  func takeAnnounced() -> Int? { announced.take() }

  /// Whether the rest of a content goes by here, once so much of it was taken.
  func isNext(after count: Int) -> Bool { inside == count }

  func open(for exchange: Exchange) {
    self.exchange = exchange
    changed()
  }

  /// More is taken than before.
  func resume() {
    mayOffer = true
    changed()
  }

  func close() {
    exchange = nil
    waiting = []
  }
}
