internal import Media
internal import Reactor

extension LAN.Options {
  init(_ options: HostOptions) throws {
    self.init()
    port = options.port
    guard case .fixed(let places) = options.discovery else { return }
    fixed = try places.map { place in
      guard let colon = place.lastIndex(of: ":"), let port = UInt16(place[place.index(after: colon)...]),
        let address = SocketAddress(String(place[..<colon].filter { !"[]".contains($0) }), port: port)
      else {
        throw NearbyError(
          .invalidParameter, "'\(place)' is no address: give a number and a port, as in 10.0.0.5:7777 or [fe80::1]:7777"
        )
      }
      return address
    }
  }
}

extension Condition {
  init(_ condition: LAN.Condition) {
    self =
      switch condition {
      case .discoveryUnavailable(let trouble): .discoveryUnavailable(cause: trouble.cause, cure: trouble.cure)
      case .discoveryAvailable: .discoveryAvailable
      case .notPublished(let type, let trouble):
        .notAdvertised(type: type.text, cause: trouble.cause, cure: trouble.cure)
      case .addresses(let addresses): .addresses(addresses.map(\.description))
      }
  }
}
