internal import Media
internal import Reactor

extension LAN.Options {
  init(_ options: HostOptions) throws {
    self.init()
    port = options.port
    guard case .fixed(let places) = options.discovery else { return }
    fixed = try places.map { place in
      do throws(SocketAddressError) {
        return try SocketAddress(text: place)
      } catch {
        throw NearbyError(.invalidParameter, error.description)
      }
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

extension WebFetch.Options {
  init(_ options: HostOptions) {
    self.init()
    bytesMax = options.web.bytesMax
    policy = AddressPolicy(allowsPrivate: options.web.allowsPrivate, allowsLoopback: options.web.allowsLoopback)
  }
}
