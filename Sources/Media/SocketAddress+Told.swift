internal import Reactor
internal import Wire

extension SocketAddress {
  /// From what another host says of itself: nil for what no LAN uses.
  init?(told address: Address) {
    let text = address.description
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    self.init(String(text[..<colon].filter { !"[]".contains($0) }), port: port)
  }
}
