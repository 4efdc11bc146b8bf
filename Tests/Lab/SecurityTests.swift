import BuiltProgram
import Testing

@testable import lab_rig

extension LabTests {
  /// Trust, and a man in the middle.
  @Suite @Laboratory
  struct SecurityTests {
    @Test func `P-SEC-2 P-SEC-3 P-SEC-4 An identity of PKCS#12 is shown, decided on, and judged by anchors`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        try await a.run("sh", "-ec", Self.makingIdentity)
        try await b.run(
          "sh", "-c", "printf '%s\\n' \"$1\" >\(LabHost.home)/root.pem", "sh", a.run("cat", "\(LabHost.home)/root.pem"))

        let refused = try a.importing(password: "guess")
        #expect(try await refused.event("error")["text"]?.contains("password is not the one") == true)
        #expect(try await refused.ended() == .exited(1))
        let imported = try a.importing(password: "workshop")
        let subjects = JSON.list([.text("CN = Ann of the workshop"), .text("CN = Lower")])
        #expect(try await imported.event("certificates").object["subjects"] == subjects)
        #expect(try await imported.ended() == .exited(0))

        // The user decides: no, and yes.
        let asking = try await b.visit("advertise", "sec-ask", "--accept", "--trust", "ask")
        for isYes in [false, true] {
          let guest = try await a.visit("invite", "sec-ask", asking.peer, "--identity", "Ann")
          let decision = try await asking.program.event("decision")
          #expect(decision["peer"] == guest.peer)
          #expect(decision.object["certificates"] == subjects)
          #expect(decision["text"]?.contains("none of the anchors") == true)
          #expect(asking.connected.isEmpty)
          try asking.program.say(isYes ? "accept" : "decline")
          try await guest.ends(with: asking, isLetIn: isYes)
        }
        try await asking.leave()

        // The rule decides: without the anchor, and with it.
        for isAnchored in [false, true] {
          if isAnchored { try await b.vicinity("identity", "anchor", "\(LabHost.home)/root.pem").ended() }
          let judge = try await b.visit("advertise", "sec-rule", "--accept", "--trust", "anchors")
          let guest = try await a.visit("invite", "sec-rule", judge.peer, "--identity", "Ann")
          let decision = try await judge.program.event("decision")
          #expect(decision["accepted"] == "\(isAnchored)")
          #expect(decision["text"]?.contains(isAnchored ? "Root" : "none of the anchors") == true)
          try await guest.ends(with: judge, isLetIn: isAnchored)
          try await judge.leave()
        }
      }
    }

    @Test func `P-SEC-5 A host in the middle that passes on what comes sees nothing of what is said`() async throws {
      try await Rig.lend(3) { rig in
        let (ann, middle, ben) = (rig.hosts[0], rig.hosts[1], rig.hosts[2])
        // There is no way for the two but through the one in the middle.
        for host in [ann, ben] { try await host.cable.set(Faults(isIsolated: true)) }
        try await ann.run("sh", "-c", "yes a-secret-in-a-file | head -c 200000 >\(LabHost.home)/letter.txt")
        let relay = try middle.start("python3", "-c", Self.relay, ben.cable.address, "\(LabHost.home)/tap")
        _ = try await relay.line("that it is there") { $0 == "relaying" }
        let b = try await ben.visit(
          "advertise", "sec-relay", "--accept", "--discovery", "static", "--port", "7000", "--to-folder", LabHost.home,
          name: "Benedict-in-secret")
        let a = try await ann.visit(
          "invite", "sec-relay", b.peer, "--at", "\(middle.cable.address):7000", name: "Annabel-in-secret")
        try await a.meets(b, within: .seconds(10))
        try await b.meets(a)
        try a.say("a-secret-in-a-message")
        try await b.hears("a-secret-in-a-message")
        try b.say("another-secret")
        try await a.hears("another-secret")
        try a.program.say("send \(LabHost.home)/letter.txt")
        #expect(try await b.program.event("resourceEnded", within: .seconds(10))["reason"] == "none")
        let tap = "\(LabHost.home)/tap"
        #expect(Int(try await middle.run("stat", "-c", "%s", tap)) ?? 0 > 200_000)
        for word in ["secret", "sec-relay", a.peer, b.peer] {
          #expect(try await middle.run("sh", "-c", "grep -acF \(word) \(tap) || :") == "0", "\(word)")
        }
      }
    }

    @Test func `P-SEC-5 A host in the middle with keys of its own is not whom one expects, and its codes differ`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let (ann, middle, ben) = (rig.hosts[0], rig.hosts[1], rig.hosts[2])
        for host in [ann, ben] { try await host.cable.set(Faults(isIsolated: true)) }
        let b = try await ben.visit(
          "advertise", "sec-false", "--accept", "--discovery", "static", "--port", "7000", name: "Ben")
        let falseBen = try await middle.visit(
          "advertise", "sec-false", "--accept", "--discovery", "static", "--port", "7000", name: "Ben")
        let place = "\(middle.cable.address):7000"
        // Nobody is found by the ID.
        let wanted = try ann.vicinity(
          "send", "sec-false", b.peer, "--message", "for Ben alone", "--at", place, "--timeout", "2", "--keys",
          "ephemeral", "--name", "Ann")
        // Somebody is found by the name.
        let a = try await ann.visit("invite", "sec-false", "Ben", "--at", place, name: "Ann")
        let falseAnn = try await middle.visit(
          "invite", "sec-false", "Ben", "--at", "\(ben.cable.address):7000", "--keys", "ephemeral", name: "Ann")
        try await a.meets(falseBen, within: .seconds(10))
        try await falseAnn.meets(b, within: .seconds(10))
        #expect(Set([a.peer, b.peer, falseBen.peer, falseAnn.peer]).count == 4)
        for asker in [a, falseAnn] { try asker.program.say("compare Ben") }
        var codes: [String?] = []
        for visitor in [a, falseBen, falseAnn, b] {
          codes.append(try await visitor.program.event("comparison")["code"])
        }
        #expect(codes[0] == codes[1])
        #expect(codes[2] == codes[3])
        #expect(codes[0] != codes[3])
        #expect(try await wanted.ended(within: .seconds(5)) == .exited(3))
        for visitor in [b, falseBen] { #expect(visitor.messages.isEmpty) }
      }
    }

    /// A root, an authority below it, and what that has issued to Ann.
    static let makingIdentity = """
      cd \(LabHost.home)
      key="openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
      $key -x509 -days 30 -subj /CN=Root -keyout root.key -out root.pem
      $key -subj /CN=Lower -keyout lower.key -out lower.csr
      printf 'basicConstraints=critical,CA:TRUE\\nkeyUsage=critical,keyCertSign\\n' >lower.ext
      openssl x509 -req -in lower.csr -CA root.pem -CAkey root.key -CAcreateserial -days 30 -extfile lower.ext -out lower.pem
      $key -subj '/CN=Ann of the workshop' -keyout ann.key -out ann.csr
      printf 'keyUsage=critical,digitalSignature\\n' >ann.ext
      openssl x509 -req -in ann.csr -CA lower.pem -CAkey lower.key -CAcreateserial -days 30 -extfile ann.ext -out ann.pem
      openssl pkcs12 -export -in ann.pem -inkey ann.key -certfile lower.pem -passout pass:workshop -out ann.p12
      """

    /// A relay that passes connections on to another host and keeps all bytes of both directions.
    private static let relay = """
      import asyncio, sys
      async def pass_on(reader, writer, tap):
          while data := await reader.read(65536):
              tap.write(data)
              tap.flush()
              writer.write(data)
              await writer.drain()
          writer.close()
      async def serve(reader, writer):
          tap = open(sys.argv[2], 'ab')
          other_reader, other_writer = await asyncio.open_connection(sys.argv[1], 7000)
          await asyncio.gather(pass_on(reader, other_writer, tap), pass_on(other_reader, writer, tap))
      async def main():
          server = await asyncio.start_server(serve, '0.0.0.0', 7000)
          print('relaying', flush=True)
          await server.serve_forever()
      asyncio.run(main())
      """
  }
}

extension LabHost {
  fileprivate func importing(password: String) throws -> Program {
    let command = """
      cd "$HOME" && printf %s \(password) >password &&
      '\(try BuiltProgram.vicinity())' identity import ann.p12 --password-file password --json
      """
    return try start("sh", "-c", command)
  }
}

extension VicinityPeer {
  /// Expects that this inviter is admitted, or not.
  fileprivate func ends(with other: VicinityPeer, isLetIn: Bool) async throws {
    if isLetIn {
      try await meets(other)
      try await other.meets(self)
      return try await leave()
    }
    try await program.event("invitationEnded", within: .seconds(10)) { $0["reason"] == "untrusted" }
    #expect(try await program.ended() == .exited(4))
  }
}
