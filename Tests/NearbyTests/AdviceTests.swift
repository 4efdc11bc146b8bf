internal import Nearby
internal import Testing

@Suite("What works, and not as well as was meant", .timeLimit(.minutes(3)))
struct AdviceTests {
  @Test("P-HAB-3 A long name, large info and a large unreliable message are advised on, each once, and work")
  func advice() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let long = try await bob.host.peer(named: String(repeating: "ä", count: 21))
    let advertiser = try await long.advertise("advice", info: ["a": String(repeating: "v", count: 250), "b": "1"])
    try await advertiser.update(info: [
      "a": String(repeating: "v", count: 250), "b": String(repeating: "v", count: 150),
    ])
    for _ in 0..<2 { try await bob.session.send([UInt8](repeating: 1, count: 1_025), .unreliable) }
    let message = try await ada.next { if case .message(let message) = $0 { message } else { nil } }
    #expect(message.mode == .unreliable && message.bytes.count == 1_025)
    await TwoPeers.leave(ada, bob)
    var advice: [Advice] = []
    for await next in bob.host.advice { advice.append(next) }
    let beginnings = [
      "The name has 42 bytes", "The discovery info has 406 bytes", "An unreliable message has 1025 bytes",
    ]
    #expect(advice.count == beginnings.count)
    for (advice, beginning) in zip(advice, beginnings) { #expect(advice.description.hasPrefix(beginning)) }
    #expect(advice.map(\.peer) == [long.id, long.id, bob.peer.id])
    for await advice in ada.host.advice { Issue.record("advised without need: \(advice)") }
  }
}
