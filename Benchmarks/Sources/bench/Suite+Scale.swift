import CAllocations
import Engine
import Report
import Wire

/// Very many peers on several hosts in one session: what one more costs, and what they take.
extension Suite {
  mutating func measureScale(hosts: Int, peers: Int) throws {
    var settings = SessionSettings()
    settings.peersMax = 20_000
    let room = Room()
    let type = try ServiceType("bench")
    let count = hosts * peers
    for _ in 0..<hosts { room.addHost() }
    var firsts: [(peer: PeerID, endpoint: EndpointID)] = []

    func add(_ number: Int, at host: Room.Host, invitedBy inviter: (peer: PeerID, endpoint: EndpointID)?) throws
      -> (peer: PeerID, endpoint: EndpointID)
    {
      let peer = try room.addPeer(number, at: host, settings)
      try room.touch(host).startAdvertising(peer.peer, type, info: .empty, at: room.now)
      room.run()
      if let inviter {
        _ = try room.touch(host).invite(
          peer.peer, as: type, to: inviter.endpoint, context: [], timeout: .zero, at: room.now)
        room.run()
      }
      return peer
    }

    let forming = try processorTime {
      for host in room.hosts {
        let first = try add(0, at: host, invitedBy: nil)
        firsts.append(first)
        for number in 1..<peers { _ = try add(number, at: host, invitedBy: first) }
      }
      for host in room.hosts.dropFirst() {
        _ = try room.touch(room.hosts[0]).invite(
          firsts[host.number].peer, as: type, to: firsts[0].endpoint, context: [], timeout: .zero, at: room.now)
        room.run(.milliseconds(200))
      }
      room.run(.seconds(2))
    }
    for host in room.hosts {
      let connected = host.engine.connectedMembers(of: firsts[host.number].endpoint).count
      check(connected == count - 1, "of \(count) peers one is connected with \(connected)")
    }
    report("crowds-of-\(count)-form", forming / .seconds(1), "s")
    let idling = processorTime { room.run(.seconds(20)) }
    report("second-of-\(count)-idle-peers", idling / .milliseconds(20), "ms")

    // One after the other on each host; each time that of the engine it costs most, and of these the middle one.
    var joins: [Duration] = []
    var leaves: [Duration] = []
    for round in 0..<Self.rounds {
      let host = room.hosts[round % hosts]
      let joiner = try room.addPeer(peers + round, at: host, settings)
      try room.touch(host).startAdvertising(joiner.peer, type, info: .empty, at: room.now)
      room.run(.milliseconds(100))
      room.startTiming()
      _ = try room.call(host) { engine throws(EngineError) in
        try engine.invite(
          joiner.peer, as: type, to: firsts[host.number].endpoint, context: [], timeout: .zero, at: room.now)
      }
      room.run(.milliseconds(100))
      joins.append(room.stopTiming())
      check(
        host.engine.connectedMembers(of: joiner.endpoint).count == count, "one that joined \(count) is not with all")
      room.startTiming()
      room.call(host) { $0.closeSession(joiner.endpoint, at: room.now) }
      room.run(.milliseconds(100))
      leaves.append(room.stopTiming())
      room.touch(host).removePeer(joiner.peer, at: room.now)
      room.run(.milliseconds(100))
    }
    report("join-\(count)-peers", joins.sorted()[Self.rounds / 2] / .milliseconds(1), "ms", goal: .atMost(1))
    report("leave-\(count)-peers", leaves.sorted()[Self.rounds / 2] / .milliseconds(1), "ms", goal: .atMost(1))

    let before = allocated_bytes()
    room.remove(room.hosts[0])
    let freed = before - allocated_bytes()
    gate("memory-of-idle-pair", Double(freed) / Double(peers * (count - 1)), "bytes", goal: 16)
  }

  private static let rounds = 20
}
