internal import Reactor
internal import Wire

extension SocketAddress {
  /// Parses an address as it is given by hand: `127.0.0.1:7777`, or `[::1]:7777`.
  init(dialing address: Address) throws(Misuse) {
    let text = address.description
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      let address = SocketAddress(String(text[..<colon].filter { !"[]".contains($0) }), port: port)
    else { throw Misuse("'\(text)' is no address: give a number and a port, as in 127.0.0.1:7777") }
    self = address
  }
}
