import Testing

@testable import lab_rig

extension LabTests {
  /// Streams and resources between clients of two gateways and a program on a third host.
  @Suite @Laboratory
  struct GatewayFlowTests {
    @Test
    func
      `P-STR-1 P-STR-2 P-STR-3 Streams go from gateway to gateway, to a program and back, and one that nobody reads holds up itself alone`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let party = try await Gate.party(rig, "gate-stream")
        let (anna, bert) = (party[0], party[1])
        let puppet = try await rig.hosts[2].puppet()
        try await puppet.invites(anna, "gate-stream")
        try await puppet.program.event("connected") { $0["peer"] == bert.peer }
        let (size, large) = (1_000_000, 16_000_000)
        for host in [anna.gate.host, bert.gate.host] {
          try await host.run("python3", "-c", Self.writingPattern, "\(LabHost.home)/pattern.bin", "\(size)")
        }
        let sum = try await anna.gate.host.sum("pattern.bin")

        // One that is not read, as long as it is not.
        let before = try anna.gate.program.memoryMax()
        let still = try await anna.stream("still", to: puppet.peer)
        try await anna.gate.host.run("python3", "-c", Self.writingPattern, "\(LabHost.home)/large.bin", "\(large)")
        let writing = try anna.gate.begin("PUT", "\(still)/bytes", "-T", "\(LabHost.home)/large.bin")
        try await puppet.program.event("stream") { $0["stream"] == "still" }

        // Three others meanwhile, and messages.
        let there = try await anna.stream("there", to: puppet.peer)
        let across = try await anna.stream("across", to: bert.peer)
        try puppet.program.say("open back s \(anna.peer)")
        try await puppet.program.event("stream") { $0["stream"] == "there" }
        let arriving = try await bert.incoming("streams", "across")
        let back = try await anna.incoming("streams", "back")
        let reading = try bert.gate.begin("GET", "\(arriving)/bytes", "-o", "\(LabHost.home)/across.bin")
        let readingBack = try anna.gate.begin("GET", "\(back)/bytes", "-o", "\(LabHost.home)/back.bin")
        try puppet.program.say("read there")
        try puppet.program.say("write back \(size)")
        let writers = try [there, across].map {
          try anna.gate.begin("PUT", "\($0)/bytes", "-T", "\(LabHost.home)/pattern.bin")
        }
        try await anna.send("beside-streams")
        try await bert.hears("beside-streams")
        try await puppet.hears("beside-streams")
        try await puppet.expectDone("write", within: .seconds(20))
        try await puppet.does("close back")
        for program in writers + [reading, readingBack] {
          #expect(try await program.ended(within: .seconds(20)) == .exited(0), "\(program.log())")
        }
        let end = try await puppet.program.event("streamEnded") { $0["stream"] == "there" }
        #expect([end["reason"], end["bytes"], end["fault"]] == ["none", "\(size)", "-1"])
        #expect(try await puppet.program.event("streamEnded") { $0["stream"] == "back" }["reason"] == "none")
        #expect(try await bert.gate.host.sum("across.bin") == sum)
        #expect(try await anna.gate.host.sum("back.bin") == sum)
        for (peer, path) in [(anna, there), (anna, across), (anna, back), (bert, arriving)] {
          let stream = try await peer.gate.asks("GET", path)
          #expect(stream["state"] == "closed" && stream["bytes"]?.count == size, "\(stream)")
        }

        // Nobody has taken much of the one that stands still; once it is read, all of it comes.
        #expect(writing.ending == nil)
        let grown = try anna.gate.program.memoryMax() - before
        print("a gateway with a stream of \(large) bytes that nobody reads grew by \(grown) bytes")
        #expect(grown < large)
        try puppet.program.say("read still")
        #expect(try await writing.ended(within: .seconds(30)) == .exited(0), "\(writing.log())")
        let whole = try await puppet.program.event("streamEnded", within: .seconds(10)) { $0["stream"] == "still" }
        #expect([whole["reason"], whole["bytes"], whole["fault"]] == ["none", "\(large)", "-1"])

        // Each end learns of the stream's end if the other gives it up.
        let dropped = try await anna.stream("dropped", to: puppet.peer)
        try await puppet.program.event("stream") { $0["stream"] == "dropped" }
        try await puppet.does("drop dropped")
        let told = try await anna.gate.wait(in: "\(anna.session)/streams", "the end of the stream") {
          dropped.hasSuffix("/\($0["id"]?.text ?? "?")") && $0["state"] != "open"
        }
        #expect(told["state"] == "failed" && told["reason"] == "cancelled", "\(told)")
        try puppet.program.say("open unwanted s \(bert.peer)")
        try await bert.gate.asks("DELETE", try await bert.incoming("streams", "unwanted"))
        let unwanted = try await puppet.program.event("streamEnded") { $0["stream"] == "unwanted" }
        #expect(unwanted["reason"] == "cancelled")
      }
    }

    /// The bytes by which `lab-peer` checks whether a stream arrives as it was written.
    private static let writingPattern = """
      import sys
      period = bytes(i * 0x9e3779b1 >> 13 & 0xff for i in range(65521))
      count = int(sys.argv[2])
      with open(sys.argv[1], 'wb') as file:
          file.write((period * (count // len(period) + 1))[:count])
      """

    @Test
    func
      `P-RES-1 P-RES-2 P-RES-3 P-RES-4 Files go from gateway to gateway, to a program and back: whole once, or cancelled by either side`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let party = try await Gate.party(rig, "gate-file")
        let (anna, bert) = (party[0], party[1])
        let host = rig.hosts[2]
        try await host.run("mkdir", "\(LabHost.home)/in")
        let native = try await host.visit("invite", "gate-file", anna.peer, "--to-folder", "\(LabHost.home)/in")
        for peer in [anna, bert] { try await native.program.event("connected") { $0["peer"] == peer.peer } }
        let sum = try await anna.gate.host.file("plan.bin", bytes: 500_000)

        // Uploads, to both members at a time.
        let sent = [
          try await anna.upload("plan.bin", to: bert.peer), try await anna.upload("plan.bin", to: native.peer),
        ]
        let came = try await bert.resource("plan.bin", "complete")
        #expect(came["from"] == .text(anna.peer) && came["sha256"] == .text(sum), "\(came)")
        try await native.program.event("resourceEnded", within: .seconds(10)) { $0["reason"] == "none" }
        #expect(try await host.sum("in/plan.bin") == sum)
        for path in sent {
          try await anna.gate.wait(in: "\(anna.session)/resources", "that it has arrived") {
            path.hasSuffix("/\($0["id"]?.text ?? "?")") && $0["state"] == "complete"
          }
        }
        for word in ["resource", "resourceEnded"] { #expect(native.told(word).count == 1) }
        #expect(try await anna.subjects(of: "resourceEnded").sorted() == sent.sorted())
        // It is kept until it is deleted.
        let content = try #require(came["content"]?.text)
        for name in ["one.bin", "two.bin"] {
          try await bert.gate.asks("GET", content, nil, "-o", "\(LabHost.home)/\(name)")
          #expect(try await bert.gate.host.sum(name) == sum)
        }
        try await bert.gate.asks("DELETE", try await bert.incoming("resources", "plan.bin"))
        #expect(try await bert.gate.refusal("GET", content)["type"] == "/problems/notFound")

        // Resources come from the program, and from the web.
        let page = try await host.file("page.html", bytes: 300_000)
        try native.program.say("send \(LabHost.home)/page.html to \(bert.gate.host.name)")
        #expect(try await bert.resource("page.html", "complete")["sha256"] == .text(page))
        let serving = try host.start("python3", "-u", "-m", "http.server", "--directory", LabHost.home, "8000")
        _ = try await serving.line("that it serves") { $0.hasPrefix("Serving") }
        let web: JSON = .text("http://\(host.cable.address):8000/page.html")
        _ = try await anna.gate.makes(
          "\(anna.session)/resources", ["name": "from the web", "to": .text(bert.peer), "url": web])
        #expect(try await bert.resource("from the web", "complete")["sha256"] == .text(page))
        _ = try await anna.gate.makes(
          "\(anna.session)/resources", ["name": "strange", "to": .text(native.peer), "url": "ftp://a.example/x"])
        #expect(try await anna.resource("strange", "failed")["problem"]?["type"] == "/problems/unsupported")

        // Both sides see the progress over a slow cable, until one of them cancels.
        try await host.cable.set(Faults(bytesPerSecondMax: 1_000_000))
        _ = try await anna.gate.host.file("long.bin", bytes: 20_000_000)
        _ = try await host.file("back.bin", bytes: 20_000_000)
        let long = try await anna.upload("long.bin", to: native.peer)
        try native.program.say("send \(LabHost.home)/back.bin to \(bert.gate.host.name)")
        for (peer, name) in [(anna, "long.bin"), (bert, "back.bin")] {
          let part = try await peer.gate.wait(
            in: "\(peer.session)/resources", "a part of \(name)", within: .seconds(20)
          ) {
            $0["name"] == .text(name) && $0["bytes"]?.count ?? 0 > 0
          }
          #expect(part["state"] == "transferring" && part["size"] == 20_000_000, "\(part)")
        }
        let numbers = ["long.bin", "back.bin"].map { name in
          native.told("resource").first { $0["resource"] == name }?["number"]
        }
        for number in numbers {
          try await native.program.event("progress", within: .seconds(20)) { $0["number"] == number }
        }
        try await bert.gate.asks("DELETE", try await bert.incoming("resources", "back.bin"))
        try native.program.say("cancel \(numbers[0] ?? "")")
        for number in numbers {
          let end = try await native.program.event("resourceEnded", within: .seconds(10)) { $0["number"] == number }
          #expect(end["reason"] == "cancelled")
        }
        let end = try await anna.resource("long.bin", "cancelled")
        #expect(long.hasSuffix("/\(end["id"]?.text ?? "?")"))
        #expect(end["problem"]?["type"] == "/problems/cancelled", "\(end)")
        #expect(try await host.run("ls", "-A", "\(LabHost.home)/in") == "plan.bin")
      }
    }
  }
}

extension ClientPeer {
  /// Opens a stream; gives its path.
  fileprivate func stream(_ name: String, to other: String) async throws -> String {
    try await gate.makes("\(session)/streams", ["name": .text(name), "to": .text(other)])
  }

  /// Offers a file of its host; gives the path of the resource.
  fileprivate func upload(_ name: String, to other: String) async throws -> String {
    let path = try await gate.makes("\(session)/resources", ["name": .text(name), "to": .text(other)])
    try await gate.asks("PUT", "\(path)/content", nil, "-T", "\(LabHost.home)/\(name)")
    return path
  }

  /// The path of the stream or resource of that name that comes in.
  fileprivate func incoming(_ list: String, _ name: String) async throws -> String {
    let item = try await gate.wait(in: "\(session)/\(list)", "'\(name)' from another") {
      $0["name"] == .text(name) && $0["direction"] == "incoming"
    }
    return "\(session)/\(list)/\(item["id"]?.text ?? "")"
  }

  fileprivate func resource(_ name: String, _ state: JSON) async throws -> JSON {
    try await gate.wait(in: "\(session)/resources", "that '\(name)' is \(state)", within: .seconds(20)) {
      // The hash of a file is reported a moment after the file is complete.
      $0["name"] == .text(name) && $0["state"] == state && (state != "complete" || $0["sha256"] != nil)
    }
  }
}
