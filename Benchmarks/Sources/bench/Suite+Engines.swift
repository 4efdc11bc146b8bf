import CAllocations
import Engine
import Report
import Wire

/// The cost of whole engines: messages, sessions that form, crowds behind one host, and what waits in memory.
extension Suite {
  // MARK: Messages

  /// 100 bytes, reliable, through both engines and back as acknowledgements.
  mutating func measureMessages() throws {
    let (room, ends) = try Room.session(hosts: 2)
    measure("message-between-engines", operations: 2_000_000, goalPerSecond: 1_500_000) { times in
      room.send(times, from: ends[0], at: room.hosts[0])
    }
    precondition(room.hosts[1].messages == room.hosts[1].deliveries && room.hosts[1].messages > 0)
  }

  /// The same from one host to a hundred: each message is as many frames.
  mutating func measureFanOut() throws {
    let (room, ends) = try Room.session(hosts: 101)
    measure("message-to-100-hosts", operations: 2_000) { times in
      room.send(times, from: ends[0], at: room.hosts[0])
    }
  }

  // MARK: Sessions

  /// One host after the other is invited by the first.
  mutating func measureInvited(hosts: Int) throws {
    var pairs = 0
    let time = try processorTime {
      let (room, _) = try Room.session(hosts: hosts)
      pairs = room.hosts.reduce(0) { $0 + $1.pairs }
    }
    check(pairs == hosts * (hosts - 1), "\(hosts) hosts by invitation: \(pairs) pairs are connected")
    report("form-\(hosts)-hosts-invited", time / .seconds(1), "s", goal: .atMost(6))
  }

  /// All see each other at once, and nobody is asked.
  mutating func measureAdhoc(hosts: Int) throws {
    let room = Room()
    // The members of two sessions that invite each other are not counted together.
    var settings = SessionSettings()
    settings.peersMax = 2 * UInt32(hosts)
    let type = try ServiceType("bench")
    let time = try processorTime {
      var ends: [EndpointID] = []
      for _ in 0..<hosts { ends.append(try room.addPeer(0, at: room.addHost(), settings).endpoint) }
      for host in room.hosts { try room.touch(host).startAdhoc(ends[host.number], type, info: .empty, at: room.now) }
      while room.hosts.contains(where: { $0.pairs < hosts - 1 }), room.now < Instant(nanoseconds: 30_000_000_000) {
        room.run(.milliseconds(100))
      }
    }
    let pairs = room.hosts.reduce(0) { $0 + $1.pairs }
    check(pairs == hosts * (hosts - 1), "\(hosts) hosts ad hoc: \(pairs) pairs are connected")
    report("form-\(hosts)-hosts-adhoc", time / .seconds(1), "s", goal: .atMost(6))
    let idling = processorTime { room.run(.seconds(10)) }
    report("second-of-\(hosts)-idle-hosts", idling / .milliseconds(10), "ms")
  }

  // MARK: Crowds

  /// Peers of one host that start ad hoc mode, one after the other.
  mutating func measureAdhocCrowd(of size: Int) throws {
    let room = Room()
    let host = room.addHost()
    var settings = SessionSettings()
    settings.peersMax = 20_000
    let type = try ServiceType("bench")
    let time = try processorTime {
      for number in 0..<size {
        let (_, endpoint) = try room.addPeer(number, at: host, settings)
        try room.touch(host).startAdhoc(endpoint, type, info: .empty, at: room.now)
        room.run(.milliseconds(5))
      }
      while host.pairs < size * (size - 1), room.now < Instant(nanoseconds: 60_000_000_000) {
        room.run(.milliseconds(100))
      }
    }
    check(host.pairs == size * (size - 1), "\(size) peers of one host ad hoc: \(host.pairs) pairs are connected")
    report("form-\(size)-peers-adhoc", time / .seconds(1), "s")
    let idling = processorTime { room.run(.seconds(10)) }
    report("second-of-\(size)-idle-peers-adhoc", idling / .milliseconds(10), "ms")
  }

  /// One host with very many peers, in a session with a peer of another.
  mutating func measureCrowd(of size: Int) throws {
    var settings = SessionSettings()
    settings.peersMax = 20_000
    let room = Room()
    let type = try ServiceType("bench")
    let near = room.addHost()
    let far = room.addHost()
    let own = try room.addPeer(0, at: near, settings)
    let first = try room.addPeer(0, at: far, settings)
    try room.touch(far).startAdvertising(first.peer, type, info: .empty, at: room.now)
    room.run()
    func bring(_ number: Int) throws {
      let other = try room.addPeer(number, at: far, settings)
      try room.touch(far).startAdvertising(other.peer, type, info: .empty, at: room.now)
      _ = try room.touch(far).invite(
        other.peer, as: type, to: first.endpoint, context: [], timeout: .zero, at: room.now)
      room.run()
    }
    let crowding = try processorTime { for number in 1..<size { try bring(number) } }
    _ = try room.touch(near).invite(
      first.peer, as: type, to: own.endpoint, context: [], timeout: .zero, at: room.now)
    let meeting = processorTime { room.run(.seconds(3)) }
    check(near.pairs == size, "a crowd of \(size): \(near.pairs) pairs are connected")
    report("crowd-of-\(size)-forms", crowding / .seconds(1), "s")
    report("crowd-of-\(size)-meets-a-host", meeting / .seconds(1), "s")

    room.traffic = Room.Traffic()
    let payload = [UInt8](repeating: 7, count: 100)
    try room.touch(near).send(payload.span.bytes, from: own.endpoint, to: .all, .reliable, receipt: false, at: room.now)
    room.drain()
    let frames = room.traffic?.frames[.message] ?? 0
    let bytes = room.traffic?.bytes[.message] ?? 0
    room.traffic = nil
    check(far.deliveries == size, "a message to a crowd of \(size) came to \(far.deliveries)")
    table.add("message-to-crowd-frames", Double(frames), "frames", goal: .atMost(1), gates: true)
    check(frames == 1, "A message to the peers of one host took \(frames) frames.")
    table.add("message-to-crowd-bytes", Double(bytes), "bytes")
    measure("message-to-crowd", operations: 200_000) { times in
      room.send(times, from: own.endpoint, at: near)
    }

    let joining = try processorTime {
      for number in size..<size + Self.joiners { try bring(number) }
      room.run(.seconds(3))
    }
    check(near.pairs == size + Self.joiners, "\(Self.joiners) more joined, and \(near.pairs) pairs are connected")
    report("join-a-crowd-of-\(size)", joining / .milliseconds(1) / Double(Self.joiners), "ms")

    let before = allocated_bytes()
    room.remove(near)
    gate(
      "memory-of-remote-member", Double(before - allocated_bytes()) / Double(size + Self.joiners), "bytes", goal: 2_048)
  }

  private static let joiners = 10

  /// The memory of a host for each other host with which it shares a session.
  mutating func measureBonds(hosts: Int) throws {
    let (room, _) = try Room.session(hosts: hosts + 1)
    room.run(.seconds(10))
    let before = allocated_bytes()
    room.remove(room.hosts[0])
    gate("memory-of-bond", Double(before - allocated_bytes()) / Double(hosts), "bytes", goal: 10_240)
  }
}
