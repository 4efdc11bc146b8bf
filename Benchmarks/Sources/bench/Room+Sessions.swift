import Engine
import Wire

extension Room {
  /// As many hosts with a peer each, one after the other invited by the first: everybody is connected with everybody.
  static func session(hosts: Int, _ rules: (inout SessionSettings) -> Void = { _ in }) throws -> (Room, [EndpointID]) {
    let room = Room()
    let type = try ServiceType("bench")
    var session = SessionSettings()
    rules(&session)
    var ends: [(peer: PeerID, endpoint: EndpointID)] = []
    for _ in 0..<hosts { ends.append(try room.addPeer(0, at: room.addHost(), session)) }
    for host in room.hosts.dropFirst() {
      try room.touch(host).startAdvertising(ends[host.number].peer, type, info: .empty, at: room.now)
    }
    room.run()
    for host in room.hosts.dropFirst() {
      _ = try room.touch(room.hosts[0]).invite(
        ends[host.number].peer, as: type, to: ends[0].endpoint, context: [], timeout: .zero, at: room.now)
      room.run()
    }
    room.run(.seconds(1))
    return (room, ends.map(\.endpoint))
  }

  /// Messages of 100 bytes to everybody, in bursts as from a program that is woken now and then.
  func send(_ times: Int, from endpoint: EndpointID, at host: Host) {
    let payload = [UInt8](repeating: 7, count: 100)
    var left = times
    while left > 0 {
      for _ in 0..<min(left, 50) {
        // All are connected, and read what they get.
        try! touch(host).send(payload.span.bytes, from: endpoint, to: .all, .reliable, receipt: false, at: now)
      }
      left -= 50
      run(.microseconds(50))
    }
  }
}
