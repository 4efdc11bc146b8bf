import Testing

@testable import lab_rig

extension LabTests {
  /// Engines of two hosts, and the cable between them. Addresses are exchanged by hand.
  @Suite @Laboratory
  struct FirstContactTests {
    @Test func `P-MSG-3 Messages cross a cable that loses a tenth of all packets, once and in order`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await connected(rig)
        try await rig.hosts[1].cable.set(.loss(0.1))
        let numbers = 0..<200
        for number in numbers { try a.say("send reliable \(hexadecimal(number))") }
        _ = try await b.line("the last message", within: .seconds(60)) { $0.hasSuffix(hexadecimal(numbers.last ?? 0)) }
        #expect(b.messages == numbers.map(hexadecimal))
        #expect(!a.output.contains("notConnected"))
      }
    }

    @Test func `P-MSG-3 A cable that is cut for two seconds loses nothing`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await connected(rig)
        try await rig.hosts[1].cable.cut()
        for number in 0..<100 { try a.say("send reliable \(hexadecimal(number))") }
        await Laboratory.pass(.seconds(2))
        #expect(b.messages.isEmpty)
        try await rig.hosts[1].cable.mend()
        _ = try await b.line("the last message", within: .seconds(10)) { $0.hasSuffix(hexadecimal(99)) }
        #expect(b.messages == (0..<100).map(hexadecimal))
        #expect(!a.output.contains("notConnected"))
      }
    }

    @Test func `P-SES-1 A host whose power goes is told as not connected within six seconds`() async throws {
      try await Rig.lend(2) { rig in
        let (a, _) = try await connected(rig)
        try await rig.hosts[1].kill()
        let start = ContinuousClock.now
        _ = try await a.line("the end", within: .seconds(8)) { $0.hasPrefix("notConnected") && $0.hasSuffix(" lost") }
        #expect(ContinuousClock.now - start < .seconds(6))
      }
    }

    private func connected(_ rig: Rig) async throws -> (Program, Program) {
      var programs: [Program] = []
      var words: [[String]] = []
      for host in rig.hosts {
        let program = try host.startBuilt("first-contact", [host.cable.address])
        let line = try await program.line("where it listens") { $0.hasPrefix("listening ") }
        words.append(line.split(separator: " ").map(String.init))
        programs.append(program)
      }
      let (a, b) = (programs[0], programs[1])
      // "listening", an address, a host, a peer
      try a.say("sight \(words[1][3]) \(words[1][2]) \(words[1][1])")
      try a.say("invite \(words[1][3]) 10 00")
      _ = try await b.line("the invitation") { $0.hasPrefix("invited") }
      try b.say("accept")
      for program in programs { _ = try await program.line("that they are connected") { $0.hasPrefix("connected") } }
      return (a, b)
    }

    private func hexadecimal(_ number: Int) -> String { String(0x10000 + number, radix: 16) + "0" }
  }
}

extension Program {
  /// The bytes of every reliable message so far.
  fileprivate var messages: [String] {
    lines.filter { $0.text.hasPrefix("message reliable ") }.map { String($0.text.dropFirst("message reliable ".count)) }
  }
}
