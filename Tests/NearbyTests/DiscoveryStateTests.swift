internal import Nearby
internal import Testing

@Suite("Where an advertiser, a browser and ad hoc mode stand", .timeLimit(.minutes(1)))
struct DiscoveryStateTests {
  @Test("P-ADV-5 P-BRO-4 A search that cannot find anybody fails with the cause, and is no fault of an advertiser")
  func failure() async throws {
    var options = HostOptions()
    options.keys = .ephemeral
    // Nobody answers at the port.
    options.discovery = .fixed(["127.0.0.1:9"])
    let host = try await Host.start(options)
    let ada = try await host.peer(named: "Ada")
    let advertiser = try await ada.advertise("state")
    let browser = try await ada.browse("state")
    let session = try await ada.openSession()
    try await session.startAdhoc("state-adhoc")
    for states in [browser.states, session.adhocStates] {
      let failed = try #require(await problem(in: states))
      #expect(failed.isOutage && failed.cause.contains("127.0.0.1:9") && !failed.cure.isEmpty)
    }
    #expect(advertiser.state == .active)
    guard case .failed = browser.state, case .failed = session.adhocState else {
      Issue.record("\(browser.state), \(session.adhocState)")
      return
    }
    // Another browser for the type begins with the state of the first.
    let other = try await ada.browse("state")
    #expect(other.state == browser.state)
    await advertiser.stop()
    #expect(await advertiser.states.last == .active)
    await host.stop()
  }

  private func problem(in states: Events<DiscoveryState>) async -> DiscoveryProblem? {
    for await state in states { if case .failed(let problem) = state { return problem } }
    return nil
  }
}

extension AsyncSequence where Failure == Never {
  /// The last one before it ends.
  fileprivate var last: Element? {
    get async {
      var last: Element?
      for await element in self { last = element }
      return last
    }
  }
}
