internal import Engine
internal import Glibc
internal import Media
internal import Reactor
internal import Wire

/// Reads commands, one a line, and writes what happens, one a line. Bytes are written in hexadecimal.
///
/// It lives as long as its input: a process whose parent is gone ends.
actor Console {
  private static let type = try! ServiceType("first-contact")  // legal: lower-case letters and a hyphen

  private let reactor: Reactor
  private let place: String
  private let input = Descriptor(owning: STDIN_FILENO)
  private var registration: Registration?
  private var waiting: [UInt8] = []
  private var host: Host?
  private var endpoint: EndpointID?
  private var invitation: InvitationID?
  private var lastSighting: UInt64 = 0

  init(on reactor: Reactor, at place: String) {
    self.reactor = reactor
    self.place = place
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  func begin() {
    do {
      try openHost()
      registration = try reactor.register(input, for: .readable) { [unowned self] _ in read() }
    } catch {
      write("failed: \(error)")
      reactor.stop()
    }
  }

  private func openHost() throws {
    let (key, peerKey) = (SigningKey(), SigningKey())
    guard let place = SocketAddress(place, port: 0) else { throw Misuse("'\(place)' is no address to listen at") }
    let host = try Host(on: reactor, key: key, peerKeys: [peerKey]) { [unowned self] output, payload in
      // Host and console live on one loop, and the host keeps nothing of the output: it stays on its thread.
      nonisolated(unsafe) let output = output
      assumeIsolated { $0.told(output, payload) }
    }
    self.host = host
    try host.assumeIsolated { host in
      let address = try host.listen(at: place)
      let name = try DisplayName("peer of process \(getpid())")
      let (peer, endpoint, hostID) = try host.call { engine, now in
        let peer = engine.addPeer(peerKey.publicKey, name: name, at: now)
        try engine.startAdvertising(peer, Self.type, info: .empty, at: now)
        try engine.startBrowsing(peer, Self.type, at: now)
        return (peer, try engine.openSession(peer, SessionSettings(), at: now), engine.hostID)
      }
      assumeIsolated {
        $0.endpoint = endpoint
        $0.write("listening \(address) \(hostID) \(peer)")
      }
    }
  }

  // MARK: Commands

  private func read() {
    let room = 64 << 10
    let fresh = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      count = max(0, Glibc.read(input.number, buffer.baseAddress, room))
    }
    if fresh.isEmpty { return quit() }
    let lines = fresh.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for end in lines.dropLast() {
      obey(String(decoding: waiting + end, as: UTF8.self))
      waiting = []
    }
    waiting += lines.last ?? []
  }

  private func quit() {
    guard let registration, let host, let endpoint else { return }
    reactor.deregister(registration)
    self.registration = nil
    host.assumeIsolated {
      $0.call { $0.closeSession(endpoint, at: $1) }
      $0.stop()
    }
  }

  private func obey(_ line: String) {
    var command = Command(line)
    do {
      try obey(&command)
    } catch {
      write("refused: \(error)")
    }
  }

  private func obey(_ command: inout Command) throws {
    guard let host, let endpoint else { return }
    let name = try command.word("command")
    switch name {
    case "sight":
      let peer = try PeerID(text: try command.word("peer"))
      let sighting = Sighting(
        peer: peer, host: try HostID(text: try command.word("host")), type: Self.type,
        name: try DisplayName("somebody"), info: .empty, addresses: [try Address(text: try command.word("address"))])
      lastSighting += 1
      let id = SightingID(rawValue: lastSighting)
      host.assumeIsolated { $0.call { $0.sighted(id, sighting, at: $1) } }
    case "invite":
      let peer = try PeerID(text: try command.word("peer"))
      let timeout = Duration.seconds(try command.number("timeout in seconds"))
      let context = try command.bytes("context")
      try host.assumeIsolated {
        _ = try $0.call {
          try $0.invite(peer, as: Self.type, to: endpoint, context: context, timeout: timeout, at: $1)
        }
      }
    case "accept", "decline":
      guard let invitation else { throw Misuse("nobody has invited this peer") }
      try host.assumeIsolated {
        try $0.call {
          if name == "decline" { return try $0.decline(invitation, at: $1) }
          try $0.accept(invitation, with: endpoint, at: $1)
        }
      }
    case "send":
      let mode = try command.mode()
      let bytes = try command.bytes("message")
      try host.assumeIsolated {
        _ = try $0.call {
          try $0.send(bytes.span.bytes, from: endpoint, to: .all, mode, receipt: false, at: $1)
        }
      }
    case "leave":
      host.assumeIsolated { $0.call { $0.leave(endpoint, at: $1) } }
    case "quit":
      quit()
    default:
      throw Misuse("'\(name)' is no command: sight, invite, accept, decline, send, leave, quit")
    }
  }

  // MARK: Outputs

  private func told(_ output: Output, _ payload: RawSpan) {
    if case .invitation(let id, _, _, _, _, _, _) = output { invitation = id }
    if let line = line(for: output, payload) { write(line) }
  }

  private func line(for output: Output, _ payload: RawSpan) -> String? {
    switch output {
    case .found(_, _, let peer, _, _, _): "found \(peer)"
    case .lost(_, _, let peer): "lost \(peer)"
    case .invitation(_, let from, _, _, _, let context, _): "invited \(from) \(Hexadecimal.text(context.span.bytes))"
    case .invitationEnded(_, let reason): "invitationEnded \(reason)"
    // The output for a program with one peer names as many members at a time as its session meets.
    case .members(let members, .connecting, _): lines(members) { "connecting \($0)" }
    case .members(let members, .connected, _): lines(members) { "connected \($0)" }
    case .members(let members, .notConnected(let reason), _): lines(members) { "notConnected \($0) \(reason)" }
    case .suspended(let members, true, _): lines(members) { "suspended \($0)" }
    case .suspended(let members, false, _): lines(members) { "resumed \($0)" }
    case .message(_, _, let mode, _, _): "message \(mode) \(Hexadecimal.text(payload))"
    case .deliveryStatus(_, _, _, let status): "\(status)"
    case .writable: "writable"
    case .clockStepped: "clock stepped"
    case .conflict: "conflict"
    default: nil
    }
  }

  private func lines(_ members: [MemberView], _ line: (PeerID) -> String) -> String {
    members.map { line($0.peer) }.joined(separator: "\n")
  }

  private func write(_ line: String) {
    var bytes = Array((line + "\n").utf8)[...]
    while !bytes.isEmpty {
      // It waits for its reader, who has nothing else to read it for.
      let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      // A reader that is gone is reported by reading, too.
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
