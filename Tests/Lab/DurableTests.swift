import Testing

@testable import lab_rig

extension LabTests {
  /// Programs that keep what is under way, and are killed as by a power cut.
  @Suite @Laboratory
  struct DurableTests {
    private static let size = 40_000_000

    @Test func `P-RES-5 A receiver that is killed and started again goes on with the file, and the hash is right`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let sum = try await a.file("long.bin", bytes: Self.size)
        let words = ["--accept", "--to-folder", "\(LabHost.home)/in"]
        let first = try await b.visit("receive", "lab-durable", words)
        try await b.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        let sentBefore = try await a.bytesSent()
        let sender = try await a.visit("send", "lab-durable", [b.name, "--file", "\(LabHost.home)/long.bin"])
        try await reaches(Self.size / 4, first)
        try await first.program.end()
        let again = try await b.visit("receive", "lab-durable", words)
        #expect(again.peer == first.peer)
        try await again.program.event("resource", within: .seconds(10)) { $0["resumed"] == "true" }
        try await arrives(at: again, from: sender)
        #expect(try await b.sum("in/long.bin") == sum)
        #expect(try await b.run("ls", "-A", "\(LabHost.home)/in") == "long.bin")
        try await expectSentOnce(from: a, since: sentBefore, "its receiver")
      }
    }

    @Test func `P-RES-5 A sender that is killed and started again goes on with the file, and the hash is right`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let sum = try await a.file("long.bin", bytes: Self.size)
        let receiver = try await b.visit("receive", "lab-lasting", "--accept", "--to-folder", "\(LabHost.home)/in")
        try await b.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        let sentBefore = try await a.bytesSent()
        let words = [b.name, "--file", "\(LabHost.home)/long.bin", "--store", "\(LabHost.home)/kept/send.db"]
        let first = try await a.visit("send", "lab-lasting", words)
        try await reaches(Self.size / 4, receiver)
        try await first.program.end()
        let again = try await a.visit("send", "lab-lasting", words)
        #expect(again.peer == first.peer)
        try await again.program.event("resource", within: .seconds(10)) { $0["resumed"] == "true" }
        try await arrives(at: receiver, from: again)
        #expect(try await b.sum("in/long.bin") == sum)
        #expect(try await b.run("ls", "-A", "\(LabHost.home)/in") == "long.bin")
        try await expectSentOnce(from: a, since: sentBefore, "its sender")
      }
    }

    @Test func `P-MSG-3 On a full disk what is sent waits, and is told to; once there is room it arrives`() async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let disk = "\(LabHost.home)/disk"
        try await a.run("mkdir", "-m", "700", disk)
        try await a.run("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", disk)
        let sender = try await a.visit("adhoc", "lab-full", "--store", "\(disk)/adhoc.db")
        let receiver = try await b.visit("adhoc", "lab-full")
        try await sender.meets(receiver)
        try await receiver.meets(sender)
        try sender.say("before")
        try await receiver.hears("before")
        try await a.run("sh", "-c", "head -c 2m /dev/zero >\(disk)/ballast 2>&1 || true")
        try sender.say("meanwhile")
        let warning = try await sender.program.event("notStored", within: .seconds(5))
        #expect(warning["text"]?.contains("no room") == true)
        try await a.run("rm", "\(disk)/ballast")
        try await sender.program.event("storedAgain", within: .seconds(5))
        try await receiver.hears("meanwhile")
        for visitor in [sender, receiver] { #expect(visitor.told("notConnected").isEmpty) }
        for visitor in [sender, receiver] { try await visitor.leave() }
        try await a.run("umount", disk)
      }
    }

    private func reaches(_ bytes: Int, _ visitor: VicinityPeer) async throws {
      try await visitor.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(bytes) }
    }

    /// Waits until the transfer has ended once at each side; the sender's program then exits.
    private func arrives(at receiver: VicinityPeer, from sender: VicinityPeer) async throws {
      for visitor in [receiver, sender] {
        let end = try await visitor.program.event("resourceEnded", within: .seconds(60))
        #expect(end["reason"] == "none")
      }
      #expect(try await sender.program.ended(within: .seconds(10)) == .exited(0))
      for visitor in [receiver, sender] { #expect(visitor.told("resourceEnded").count == 1) }
    }

    private func expectSentOnce(from host: LabHost, since before: Int, _ who: String) async throws {
      let sent = try await host.bytesSent() - before
      print("a file of \(Self.size) bytes, \(who) killed in the middle, took \(sent) bytes on the cable")
      #expect(sent < Self.size * 13 / 10)
    }
  }
}
