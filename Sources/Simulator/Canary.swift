import Engine

/// The engine's sabotage switches, each of which a rule of the model must catch.
public struct Canary: Sendable, CaseIterable {
  public let name: String
  let sabotage: Sabotage
  let scenarios: [Scenario]

  public struct Catch: Sendable {
    public var scenario: Scenario
    public var seed: UInt64
    public var violation: Violation
  }

  public static let allCases: [Canary] = [
    Canary(name: "repeatsRecords", sabotage: .repeatsRecords, scenarios: [.messages, .pair]),
    Canary(name: "losesRecord", sabotage: .losesRecord, scenarios: [.messages, .pair]),
    Canary(name: "forgetsUndelivered", sabotage: .forgetsUndelivered, scenarios: [.silence, .messages, .partition]),
    Canary(name: "tellsEveryone", sabotage: .tellsEveryone, scenarios: [.messages, .groups]),
    Canary(name: "ignoresEncryption", sabotage: .ignoresEncryption, scenarios: [.encryption]),
    Canary(name: "believesCarriers", sabotage: .believesCarriers, scenarios: [.malicious]),
    Canary(name: "believesIntroductions", sabotage: .believesIntroductions, scenarios: [.malicious]),
    Canary(name: "neverSilent", sabotage: .neverSilent, scenarios: [.silence, .partition]),
    Canary(name: "mutualInvitationFault", sabotage: .mutualInvitationFault, scenarios: [.mutualInvitation, .groups]),
    Canary(name: "waitsForever", sabotage: .waitsForever, scenarios: [.answers]),
    Canary(name: "readmitsRemoved", sabotage: .readmitsRemoved, scenarios: [.removal]),
    Canary(name: "acknowledgesUnstored", sabotage: .acknowledgesUnstored, scenarios: [.restart]),
    Canary(name: "introducesNobody", sabotage: .introducesNobody, scenarios: [.groups, .merge]),
    Canary(name: "connectsOneSided", sabotage: .connectsOneSided, scenarios: [.trust, .removal]),
    Canary(name: "leavesInSilence", sabotage: .leavesInSilence, scenarios: [.removal, .groups, .churn]),
    Canary(name: "overfills", sabotage: .overfills, scenarios: [.full]),
    Canary(name: "raisesTheDead", sabotage: .raisesTheDead, scenarios: [.removal, .churn, .groups]),
    Canary(name: "hoards", sabotage: .hoards, scenarios: [.backlog]),
    Canary(name: "believesBackups", sabotage: .believesBackups, scenarios: [.backup]),
    Canary(name: "keepsGhosts", sabotage: .keepsGhosts, scenarios: [.discovery]),
    Canary(name: "ignoresCredit", sabotage: .ignoresCredit, scenarios: [.cheats]),
    Canary(name: "forgetsStreamBytes", sabotage: .forgetsStreamBytes, scenarios: [.bulk]),
    Canary(name: "endsStreamEarly", sabotage: .endsStreamEarly, scenarios: [.bulk]),
    Canary(name: "overgrants", sabotage: .overgrants, scenarios: [.bulk]),
    Canary(name: "forgetsWriters", sabotage: .forgetsWriters, scenarios: [.bulk]),
    Canary(name: "forgetsCancel", sabotage: .forgetsCancel, scenarios: [.bulk]),
    Canary(name: "startsResourcesAnew", sabotage: .startsResourcesAnew, scenarios: [.bulk]),
    Canary(name: "forgetsStored", sabotage: .forgetsStored, scenarios: [.restart]),
    Canary(name: "trustsFiles", sabotage: .trustsFiles, scenarios: [.restart]),
    Canary(name: "ignoresDamage", sabotage: .ignoresDamage, scenarios: [.bulk, .churn, .restart]),
    Canary(name: "skipsRootCheck", sabotage: .skipsRootCheck, scenarios: [.bulk]),
    Canary(name: "endsResourceTwice", sabotage: .endsResourceTwice, scenarios: [.bulk]),
    Canary(name: "starvesPeers", sabotage: .starvesPeers, scenarios: [.bulk]),
    Canary(name: "delaysMessages", sabotage: .delaysMessages, scenarios: [.bulk]),
    Canary(name: "keepsDatagramWay", sabotage: .keepsDatagramWay, scenarios: [.unreliable]),
    Canary(name: "connectsAnybody", sabotage: .connectsAnybody, scenarios: [.byHand]),
    Canary(name: "forgetsAwayPeers", sabotage: .forgetsAwayPeers, scenarios: [.discovery, .groups, .churn]),
    Canary(name: "asksAgain", sabotage: .asksAgain, scenarios: [.refusals]),
    Canary(name: "forgetsAnswers", sabotage: .forgetsAnswers, scenarios: [.refusals]),
    Canary(name: "hidesFailures", sabotage: .hidesFailures, scenarios: [.answers, .refusals]),
    Canary(name: "ignoresRoundTrip", sabotage: .ignoresRoundTrip, scenarios: [.clocks]),
    Canary(name: "keepsOwnClock", sabotage: .keepsOwnClock, scenarios: [.clocks]),
    Canary(name: "promotesNobody", sabotage: .promotesNobody, scenarios: [.walkAway, .media]),
    Canary(name: "upgradesAnyhow", sabotage: .upgradesAnyhow, scenarios: [.flapping, .media]),
    Canary(name: "noticesLate", sabotage: .noticesLate, scenarios: [.walkAway]),
    Canary(name: "breaksBeforeMaking", sabotage: .breaksBeforeMaking, scenarios: [.walkAway]),
    Canary(name: "linksLate", sabotage: .linksLate, scenarios: [.walkAway]),
    Canary(name: "hearsNobody", sabotage: .hearsNobody, scenarios: [.bridge]),
    Canary(name: "relaysOnce", sabotage: .relaysOnce, scenarios: [.relayDies, .twoRelays]),
    Canary(name: "staysWithRelays", sabotage: .staysWithRelays, scenarios: [.bridge]),
    Canary(name: "triesAlike", sabotage: .triesAlike, scenarios: [.badRelay]),
    Canary(name: "believesRelays", sabotage: .believesRelays, scenarios: [.badRelay]),
    Canary(name: "relaysForAll", sabotage: .relaysForAll, scenarios: [.badRelay]),
    Canary(name: "ignoresCircuitCredit", sabotage: .ignoresCircuitCredit, scenarios: [.badRelay]),
    Canary(name: "declinesMembers", sabotage: .declinesMembers, scenarios: [.introduced]),
    Canary(name: "probesAtLeisure", sabotage: .probesAtLeisure, scenarios: [.discovery, .churn]),
    Canary(name: "tellsRefused", sabotage: .tellsRefused, scenarios: [.gateways]),
    Canary(name: "tellsOneByOne", sabotage: .tellsOneByOne, scenarios: [.gateways]),
    Canary(name: "skipsTheLast", sabotage: .skipsTheLast, scenarios: [.gateways]),
    Canary(name: "forgetsTheLast", sabotage: .forgetsTheLast, scenarios: [.gateways]),
    Canary(name: "refusesInSilence", sabotage: .refusesInSilence, scenarios: [.gateways]),
    Canary(name: "keepsBlocked", sabotage: .keepsBlocked, scenarios: [.gateways]),
    Canary(name: "withdrawsAll", sabotage: .withdrawsAll, scenarios: [.gateways]),
    Canary(name: "keepsInvitations", sabotage: .keepsInvitations, scenarios: [.gateways]),
  ]

  public func run(_ scenario: Scenario, seed: UInt64, recording: Bool = false) -> Outcome {
    var plan = Planner.draw(scenario, seed: seed)
    plan.sabotage = sabotage
    return Simulation.run(plan, recording: recording)
  }

  /// The first seed that shows it, of so many in each of its scenarios.
  public func caught(seeds: UInt64) -> Catch? {
    for seed in 1...max(seeds, 1) {
      for scenario in scenarios {
        guard let violation = run(scenario, seed: seed).violation else { continue }
        // A rule that the unbroken engine violates as well proves nothing.
        if Simulation.run(scenario, seed: seed).violation == nil {
          return Catch(scenario: scenario, seed: seed, violation: violation)
        }
      }
    }
    return nil
  }
}
