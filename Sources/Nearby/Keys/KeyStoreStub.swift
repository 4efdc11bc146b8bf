internal import Engine
internal import Media
internal import Reactor
internal import Wire

final class KeyStore: @unchecked Sendable {
  let hostKey = SigningKey()
  let incarnation = Incarnation(1)
  init(_ storage: KeyStorage) throws {}
  func peerKey(named name: DisplayName) throws -> SigningKey { SigningKey() }
}
extension Condition {
  init(_ c: LAN.Condition) {
    switch c {
    case .discoveryUnavailable(let cause, let cure): self = .discoveryUnavailable(cause: cause, cure: cure)
    case .discoveryAvailable: self = .discoveryAvailable
    case .notPublished(let type, let cause): self = .notAdvertised(type: type.text, cause: cause)
    case .addresses(let a): self = .addresses(a.map(\.description))
    }
  }
}
extension LAN.Options {
  init(_ o: HostOptions) { self.init(); port = o.port }
}
