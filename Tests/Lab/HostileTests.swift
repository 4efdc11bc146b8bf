import Testing

@testable import lab_rig

extension LabTests {
  /// A third host does to the ports of a peer in a session what it likes.
  @Suite @Laboratory
  struct HostileTests {
    /// How long a connection may take to show whose it is (`SecureLink.Limits.handshakeTime`), on a machine with other work.
    private static let handshakeTime: Duration = .seconds(10)
    private static let slack: Duration = .seconds(5)

    @Test func `P-HAB-2 Noise on the TCP and the UDP port of a peer is no end of its session, and takes little memory`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let (a, b) = try await pair(on: rig, "lab-noise")
        let before = try a.program.memoryMax()
        let noise = try rig.hosts[2].start("python3", "-c", Self.noise, a.host.cable.address)
        try await talk(a, b, until: noise, says: "done")
        let longest = try await Self.duration(noise, "ended", within: .seconds(20))
        print("connections that brought noise were closed after \(longest) at most")
        #expect(longest < Self.handshakeTime + Self.slack)
        try await expectUnharmed(a, b, since: before)
      }
    }

    @Test(arguments: ["half-open", "cut", "silent"])
    func `P-HAB-2 Connections that go no further end in time, keep nobody out and take little memory`(
      _ kind: String
    ) async throws {
      try await Rig.lend(3) { rig in
        let (a, b) = try await pair(on: rig, "lab-\(kind)")
        let before = try a.program.memoryMax()
        let silence = try rig.hosts[2].start("python3", "-c", Self.silence, a.host.cable.address, kind)
        _ = try await silence.line("that all are begun", within: .seconds(30)) { $0 == "begun" }
        // The newcomer has the same address as the hostile connections.
        let c = try await rig.hosts[2].visit("adhoc", "lab-\(kind)")
        for visitor in [a, b] {
          try await visitor.meets(c, within: .seconds(15))
          try await c.meets(visitor, within: .seconds(15))
        }
        try await talk(a, b, until: silence, says: "done")
        let longest = try await Self.duration(silence, "ended", within: .seconds(5))
        print("connections of the kind \(kind) were closed after \(longest) at most")
        #expect(longest < Self.handshakeTime + Self.slack)
        try await expectUnharmed(a, b, since: before)
      }
    }

    /// Two peers in one session, the first at a known port.
    private func pair(on rig: Rig, _ type: String) async throws -> (VicinityPeer, VicinityPeer) {
      let a = try await rig.hosts[0].visit("adhoc", type, "--port", "7000")
      let b = try await rig.hosts[1].visit("adhoc", type)
      try await a.meets(b)
      try await b.meets(a)
      return (a, b)
    }

    /// Exchanges messages one by one, each received before the next is sent, until the other program prints its end.
    private func talk(_ a: VicinityPeer, _ b: VicinityPeer, until other: Program, says end: String) async throws {
      var count = 0
      repeat {
        let (speaker, listener) = count.isMultiple(of: 2) ? (a, b) : (b, a)
        try speaker.say("line \(count)")
        try await listener.hears("line \(count)")
        count += 1
        await Laboratory.pass(.milliseconds(100))
        if other.lines.contains(where: { $0.text == end }) { return }
      } while other.ending == nil
      throw LabError("it ended too soon:\n\(other.log())")
    }

    private func expectUnharmed(_ a: VicinityPeer, _ b: VicinityPeer, since before: Int) async throws {
      try b.say("afterwards")
      try await a.hears("afterwards")
      for visitor in [a, b] {
        for name in ["suspended", "notConnected", "error"] { #expect(visitor.told(name).isEmpty, "\(name)") }
      }
      let grown = try a.program.memoryMax() - before
      print("that took \(grown) bytes of memory")
      #expect(grown < 32 << 20)
    }

    private static func duration(_ program: Program, _ word: String, within time: Duration) async throws -> Duration {
      let line = try await program.line("when it was over", within: time) { $0.hasPrefix(word + " ") }
      guard let seconds = Double(line.dropFirst(word.count + 1)) else { throw LabError("'\(line)' is no time") }
      return .seconds(seconds)
    }

    /// Connections with a random number of random bytes each, and as many datagrams as go in the same time. Each is held
    /// until the other side closes it.
    private static let noise = """
      import os, random, socket, sys, time
      place = (sys.argv[1], 7000)
      datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
      longest = 0
      for _ in range(150):
          start = time.monotonic()
          connection = socket.create_connection(place)
          try:
              connection.sendall(os.urandom(random.choice([1, 5, 100, 3000, 40000])))
              for _ in range(100):
                  datagrams.sendto(os.urandom(random.randrange(1, 1400)), place)
              connection.shutdown(socket.SHUT_WR)
              connection.settimeout(30)
              while connection.recv(65536):
                  pass
          except OSError:
              pass
          longest = max(longest, time.monotonic() - start)
      print('ended', longest)
      print('done', flush=True)
      """

    /// A thousand, without a first packet that is answered, with half a hello, or with nothing said. It waits until all
    /// that there is of them is closed by the other side.
    private static let silence = """
      import random, resource, selectors, socket, ssl, struct, sys, time
      place, kind = (sys.argv[1], 7000), sys.argv[2]
      resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

      def checksum(data):
          total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
          total = (total >> 16) + (total & 0xffff)
          return 0xffff - (total + (total >> 16) & 0xffff)

      def first_packet(port):
          # Of somebody who is not there: the answer finds nobody who would refuse it.
          source, target = socket.inet_aton('10.77.0.%d' % random.randrange(100, 250)), socket.inet_aton(place[0])
          head = struct.pack('!HHIIBBHHH', port, place[1], random.getrandbits(32), 0, 5 << 4, 2, 64240, 0, 0)
          sum = checksum(source + target + struct.pack('!BBH', 0, 6, len(head)) + head)
          head = head[:16] + struct.pack('!H', sum) + head[18:]
          return struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(head), 0, 0, 64, 6, 0, source, target) + head

      def hello():
          context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
          context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
          inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
          try:
              context.wrap_bio(inward, outward).do_handshake()
          except ssl.SSLWantReadError:
              return outward.read()

      longest = 0
      open_ones = selectors.DefaultSelector()
      if kind == 'half-open':
          raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
          for number in range(1000):
              raw.sendto(first_packet(10000 + number), place)
      else:
          for _ in range(1000):
              connection = socket.create_connection(place)
              begun = time.monotonic()
              if kind == 'cut':
                  words = hello()
                  connection.sendall(words[:random.randrange(1, len(words))])
              open_ones.register(connection, selectors.EVENT_READ, begun)
      print('begun', flush=True)
      left = len(open_ones.get_map())
      while left:
          for key, _ in open_ones.select():
              try:
                  if key.fileobj.recv(65536):
                      continue
              except ConnectionError:
                  pass
              longest = max(longest, time.monotonic() - key.data)
              open_ones.unregister(key.fileobj)
              left -= 1
      if kind == 'half-open':
          time.sleep(3)
      print('ended', longest)
      print('done', flush=True)
      """
  }
}
