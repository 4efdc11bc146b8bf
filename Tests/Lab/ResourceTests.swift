import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct ResourceTests {
    @Test func `P-RES-3 P-RES-4 A file arrives whole, where it was to be, and nothing else lies there`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await pair(rig, "lab-file")
        let sum = try await a.host.file("picture.bin", bytes: 3_000_000)
        try a.program.say("send \(LabHost.home)/picture.bin")
        let told = try await b.program.event("resource")
        #expect(told["peer"] == a.peer)
        #expect(told["resource"] == "picture.bin")
        for visitor in [a, b] {
          let end = try await visitor.program.event("resourceEnded", within: .seconds(20))
          #expect(end["reason"] == "none")
        }
        #expect(try await b.host.sum("in/picture.bin") == sum)
        #expect(try await b.host.run("ls", "-A", "\(LabHost.home)/in") == "picture.bin")
        for visitor in [a, b] { #expect(visitor.told("resourceEnded").count == 1) }
      }
    }

    @Test(arguments: [2, 60])
    func `P-RES-5 P-SES-1 A cable is cut in the middle of a file: all goes on by itself, and the hash is right`(
      _ seconds: Int
    ) async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await pair(rig, "lab-cut")
        let size = 40_000_000
        let sum = try await a.host.file("long.bin", bytes: size)
        try await b.host.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        let sentBefore = try await a.host.bytesSent()
        try a.program.say("send \(LabHost.home)/long.bin")
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(size / 4) }
        try await b.host.cable.cut()
        await Laboratory.pass(.seconds(seconds))
        try await b.host.cable.mend()
        for visitor in [a, b] {
          let end = try await visitor.program.event("resourceEnded", within: .seconds(60))
          #expect(end["reason"] == "none")
          #expect(visitor.told("resourceEnded").count == 1)
        }
        #expect(try await b.host.sum("in/long.bin") == sum)
        let sent = try await a.host.bytesSent() - sentBefore
        print("a file of \(size) bytes that was cut off for \(seconds) s took \(sent) bytes on the cable")
        #expect(sent < size * 5 / 4)
        // Only the long cut is the end of the connection, which comes back by itself; what names no endpoint is an
        // invitation that failed meanwhile.
        for visitor in [a, b] {
          #expect(visitor.told("notConnected").count { $0["endpoint"] != nil } == (seconds > 5 ? 1 : 0))
        }
        #expect(a.connected == [b.peer])
        #expect(b.connected == [a.peer])
        let progress = b.told("progress").compactMap { $0.number("bytes") }
        #expect(progress == progress.sorted())
      }
    }

    @Test func `P-RES-3 A receiver that is killed: its sender is told once, and the file sent anew arrives whole`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = try await pair(rig, "lab-killed")
        let sum = try await a.host.file("long.bin", bytes: 10_000_000)
        try await b.host.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        try a.program.say("send \(LabHost.home)/long.bin")
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > 0 }
        try await b.program.end()
        let again = try await b.host.visit("adhoc", "lab-killed", "--to-folder", "\(LabHost.home)/in")
        let end = try await a.program.event("resourceEnded", within: .seconds(20))
        #expect(end["reason"] == "gone")
        try await a.meets(again, within: .seconds(10))
        try await again.meets(a, within: .seconds(10))
        try a.program.say("send \(LabHost.home)/long.bin")
        try await again.program.event("resourceEnded", within: .seconds(20)) { $0["reason"] == "none" }
        #expect(try await b.host.sum("in/long.bin") == sum)
        #expect(a.told("resourceEnded").filter { $0["reason"] == "gone" }.count == 1)
      }
    }

    @Test(arguments: [true, false])
    func `P-RES-2 Cancelled by either side, both are told so, and nothing is left`(_ bySender: Bool) async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await pair(rig, "lab-cancel")
        _ = try await a.host.file("long.bin", bytes: 40_000_000)
        try await b.host.cable.set(Faults(bytesPerSecondMax: 2_000_000))
        try a.program.say("send \(LabHost.home)/long.bin")
        for visitor in [a, b] {
          let progress = try await visitor.program.event("progress", within: .seconds(20)) {
            ($0.number("bytes") ?? 0) > 0
          }
          #expect(progress["size"] == "40000000")
        }
        try (bySender ? a : b).program.say("cancel")
        for visitor in [a, b] {
          let end = try await visitor.program.event("resourceEnded", within: .seconds(10))
          #expect(end["reason"] == "cancelled")
        }
        #expect(try await b.host.run("ls", "-A", "\(LabHost.home)/in") == "")
        for visitor in [a, b] { #expect(visitor.told("notConnected").isEmpty) }
      }
    }

    @Test func `P-RES-2 A message passes a file on a slow cable`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await pair(rig, "lab-passing")
        _ = try await a.host.file("long.bin", bytes: 20_000_000)
        try await b.host.cable.set(Faults(bytesPerSecondMax: 1_000_000))
        try a.program.say("send \(LabHost.home)/long.bin")
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > 0 }
        for number in 0..<10 {
          try a.say("message \(number)")
          try await b.hears("message \(number)", within: .seconds(1))
        }
      }
    }

    @Test func `P-RES-1 A page of a web server on a third host is sent, and another scheme is refused as unsupported`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let (a, b) = try await pair(rig, "lab-web")
        let server = rig.hosts[2]
        let sum = try await server.file("page.html", bytes: 300_000)
        let serving = try server.start("python3", "-u", "-m", "http.server", "--directory", LabHost.home, "8000")
        _ = try await serving.line("that it serves") { $0.hasPrefix("Serving") }
        try a.program.say("send ftp://\(server.cable.address)/page.html")
        let refusal = try await a.program.event("error")
        #expect(refusal["error"] == "unsupported")
        #expect(refusal["text"]?.contains("“ftp” URLs cannot be fetched; give one with http or https") == true)
        try a.program.say("send http://\(server.cable.address):8000/page.html")
        let told = try await b.program.event("resource")
        #expect([told["resource"], told["type"], told["size"]] == ["page.html", "text/html", "300000"])
        for visitor in [a, b] {
          #expect(try await visitor.program.event("resourceEnded", within: .seconds(10))["reason"] == "none")
        }
        #expect(try await b.host.sum("in/page.html") == sum)
        #expect(b.told("resource").count == 1)
      }
    }

    @Test func `P-RES-4 A received file is kept until it is taken or released, and nothing is left afterwards`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.puppets("lab-keep")
        let (a, b) = (party[0], party[1])
        var (sums, paths): ([String], [String]) = ([], [])
        for name in ["taken", "forgotten", "left"] {
          sums.append(try await a.host.file(name, bytes: 100_000))
          try a.program.say("offer s \(b.peer) \(LabHost.home)/\(name)")
          try await b.program.event("resource") { $0["resource"] == name }
          try b.program.say("keep \(name)")
          let end = try await b.program.event("resourceEnded") { $0["resource"] == name }
          #expect(end["reason"] == "none")
          paths.append(try #require(end["path"]))
        }
        // The files survive their sender.
        try await a.host.kill()
        for (path, sum) in zip(paths, sums) { #expect(try await b.host.run("sha256sum", path).hasPrefix(sum)) }
        try await b.host.run("mv", paths[0], LabHost.home)
        for name in ["taken", "forgotten"] { try await b.does("forget \(name)") }
        try await Laboratory.wait(until: "what was forgotten is gone", within: .seconds(2)) {
          try await b.host.run("find", "/run/tmp", "-type", "f") == paths[2]
        }
        try b.program.say("quit")
        try await b.program.ended()
        #expect(try await b.host.run("ls", "-A", "/run/tmp") == "")
        #expect(try await b.host.sum("taken") == sums[0])
      }
    }

    /// The second takes files into the folder `in`.
    private func pair(_ rig: Rig, _ type: String) async throws -> (VicinityPeer, VicinityPeer) {
      let a = try await rig.hosts[0].visit("adhoc", type)
      try await rig.hosts[1].run("mkdir", "\(LabHost.home)/in")
      let b = try await rig.hosts[1].visit("adhoc", type, "--to-folder", "\(LabHost.home)/in")
      try await a.meets(b)
      try await b.meets(a)
      return (a, b)
    }
  }
}

extension LabHost {
  /// Makes a file that nobody can guess; gives its hash.
  func file(_ name: String, bytes: Int) async throws -> String {
    try await run("sh", "-c", "head -c \(bytes) /dev/urandom >\(Self.home)/\(name)")
    return try await sum(name)
  }

  func sum(_ name: String) async throws -> String {
    String(try await run("sha256sum", "\(Self.home)/\(name)").prefix(64))
  }

  func bytesSent() async throws -> Int {
    let text = try await run("cat", "/sys/class/net/eth0/statistics/tx_bytes")
    guard let count = Int(text) else { throw LabError("'\(text)' is no number of bytes") }
    return count
  }
}
