internal import Media
internal import Nearby
internal import Notation

extension Core {
  /// The gateway's own peer, and what its host has to say.
  func open() async throws {
    let peer = try await host.peer(named: options.name)
    add(PeerModel(peer, .gateway, .stored, at: Self.now()))
    let host = host
    start { core in
      for await condition in host.conditions { core.told(condition) }
    }
    addresses = await host.addresses
  }

  private func told(_ condition: Condition) {
    switch condition {
    case .discoveryUnavailable(let cause, let cure):
      discoveryTrouble = (cause, cure)
      tell(
        "discoveryUnavailable", about: "/v1/gateway", .gateway,
        [.init("cause", .text(cause)), .init("cure", .text(cure))])
    case .discoveryAvailable:
      discoveryTrouble = nil
      tell("discoveryAvailable", about: "/v1/gateway", .gateway)
    case .notAdvertised(let type, let cause, let cure):
      for advertiser in advertisers.values where advertiser.serviceType == type {
        advertiser.state = .failed(Problem(.unavailable, "\(cause): \(cure)"))
        publish(advertiser)
      }
    case .addresses(let addresses):
      self.addresses = addresses
    case .conflict(let host):
      tell("conflict", about: "/v1/gateway", .operators, [.init("host", .text(host.text))])
    }
  }
}
