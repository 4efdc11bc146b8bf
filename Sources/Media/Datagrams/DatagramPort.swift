internal import Glibc
public import Reactor
public import Wire

/// The events of a datagram port's probes, always from the loop and never from within a call.
public protocol DatagramPortOwner: AnyObject {
  /// A host that was probed with this tag is there.
  func answered(_ tag: UInt64, from address: SocketAddress)
}

/// One UDP socket for all hosts: it sends and answers probes, and carries the datagrams of links.
///
/// Invariants:
/// - An answer goes to the address that the question came from, is no larger than it, and comes at a limited rate.
/// - A question of its own that comes back is not answered: where a host hears itself, there is no other.
/// - A packet that is neither sealed by a link's other end nor an answer to a question changes nothing but a count: no
///   memory, no answer.
///
/// It belongs to its reactor's thread.
public final class DatagramPort {
  /// Packet counts, for the doctor.
  public struct Counts: Sendable, Hashable {
    public var sent = 0
    /// Packets that the network or a full socket did not take.
    public var unsent = 0
    public var delivered = 0
    public var probesAnswered = 0
    /// For another host, of its own, or past the rate limit of answers.
    public var probesIgnored = 0
    /// Packets of no known form or length, and answers that nobody asked for.
    public var garbage = 0
    /// Packets of links that are not here, or not yet, or not any more.
    public var unknown = 0
    public var replayed = 0
    public var forged = 0
  }

  /// The number of packets read in one turn before others have theirs.
  private static let packetsPerTurnMax = 64

  /// The bound address, with the actual port.
  public let address: SocketAddress
  public private(set) var counts = Counts()

  private let host: HostID
  private let reactor: Reactor
  private let pathLimits: DatagramPath.Limits
  private weak var owner: (any DatagramPortOwner)?
  private var socket: Descriptor?
  private var registration: Registration?
  private var paths: [UInt64: DatagramPath] = [:]
  private var probes = Probes()
  private var allowance = AnswerAllowance()
  /// Buffers for an outgoing packet, an incoming one, and its payload. The last two bytes of the second show a packet
  /// that is too long.
  private let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: 3 * (DatagramPacket.bytesMax + 16), alignment: 16)

  /// Binds a port, best the one where the host listens for links, since others knock there; where somebody else has it,
  /// a free one.
  public init(
    at address: SocketAddress, taking given: consuming Descriptor? = nil, host: HostID, on reactor: Reactor,
    pathLimits: DatagramPath.Limits = .init(),
    owner: any DatagramPortOwner
  ) throws(SystemError) {
    let socket: Descriptor
    do throws(SystemError) {
      if let given { socket = given } else { socket = try .datagrams(at: address) }
    } catch {
      guard error.code == EADDRINUSE else { throw error }
      socket = try .datagrams(at: address.with(port: 0))
    }
    self.address = try socket.localAddress() ?? address
    self.host = host
    self.reactor = reactor
    self.pathLimits = pathLimits
    self.owner = owner
    registration = try reactor.register(socket, for: .readable) { [unowned self] _ in receive() }
    self.socket = consume socket
  }

  deinit {
    close()
    memory.deallocate()
  }

  /// Closes the port and all its paths, without a word to the other side.
  public func close() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
    for path in paths.values { path.close() }
  }

  // MARK: Probes

  /// Asks at each address whether the host is there. An answer is reported once, with the tag; a missing answer is not.
  public func probe(_ host: HostID, at addresses: some Sequence<SocketAddress>, tag: UInt64) {
    reactor.preconditionIsolated()
    let nonce = probes.ask(Probes.Question(host: host, tag: tag), at: Reactor.now)
    for address in addresses { send(.probe, host, nonce, to: address) }
  }

  private func send(_ kind: DatagramPacket.Kind, _ host: HostID, _ nonce: UInt64, to address: SocketAddress) {
    _ = send(DatagramPacket.probeBytes, to: address) { packet in
      packet[0] = kind.rawValue
      packet.put(u64: host.raw.high, at: 1)
      packet.put(u64: host.raw.low, at: 9)
      packet.put(u64: nonce, at: 17)
    }
  }

  private func takeProbe(_ kind: DatagramPacket.Kind, _ packet: UnsafeRawBufferPointer, from address: SocketAddress) {
    guard packet.count == DatagramPacket.probeBytes else { return counts.garbage += 1 }
    let host = HostID(ID128(high: packet.u64(at: 1), low: packet.u64(at: 9)))
    let nonce = packet.u64(at: 17)
    if kind == .answer {
      guard let question = probes.take(nonce, by: host) else { return counts.garbage += 1 }
      owner?.answered(question.tag, from: address)
    } else if host != self.host || probes.holds(nonce) || !allowance.takeToken(for: address, at: Reactor.now) {
      counts.probesIgnored += 1
    } else {
      counts.probesAnswered += 1
      send(.answer, host, nonce, to: address)
    }
  }

  // MARK: Paths

  /// Opens the path for a link's datagrams, once the link is open; to be closed when that is closed. The side that
  /// dialled knocks at the link's address, or at the one given; the other one learns the address from the knocks.
  public func open(
    for link: SecureLink, at address: SocketAddress? = nil, owner: any DatagramPathOwner
  ) -> DatagramPath {
    reactor.preconditionIsolated()
    guard let keys = link.datagramKeys() else { preconditionFailure("a link that is not open has no datagrams") }
    let first = address ?? (link.isDialed ? link.remoteAddress : nil)
    let path = DatagramPath(keys, from: self, to: first, pathLimits, reactor)
    // Two links with one number of 64 random bits: the later one has no datagrams.
    if paths[keys.receiving.id] == nil { paths[keys.receiving.id] = path }
    path.begin(owner)
    return path
  }

  func forget(_ path: DatagramPath) {
    let id = path.keys.receiving.id
    if paths[id] === path { paths[id] = nil }
  }

  // MARK: Packets

  /// Sends a packet of so many bytes, which `fill` writes; false where it was not sent.
  func send(_ count: Int, to address: SocketAddress, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
    let packet = UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
    fill(packet)
    let target = self.address.isV6 ? address.mapped : address
    let isSent = try? socket?.send(UnsafeRawBufferPointer(packet), to: target)
    if isSent == true { counts.sent += 1 } else { counts.unsent += 1 }
    return isSent == true
  }

  private func receive() {
    let part = memory.count / 3
    let room = UnsafeMutableRawBufferPointer(rebasing: memory[part..<2 * part])
    let inside = UnsafeMutableRawBufferPointer(rebasing: memory[(2 * part)...])
    for _ in 0..<Self.packetsPerTurnMax {
      // An error belongs to a packet that was sent, and is cleared with that; the rest comes in the next turn.
      guard let (count, address) = try? socket?.receive(into: room) else { return }
      guard count <= DatagramPacket.bytesMax else {
        counts.garbage += 1
        continue
      }
      take(UnsafeRawBufferPointer(rebasing: room[..<count]), from: address, room: inside)
    }
  }

  private func take(_ packet: UnsafeRawBufferPointer, from address: SocketAddress, room: UnsafeMutableRawBufferPointer)
  {
    guard let kind = packet.first.flatMap(DatagramPacket.Kind.init) else { return counts.garbage += 1 }
    if kind == .probe || kind == .answer { return takeProbe(kind, packet, from: address) }
    guard packet.count >= DatagramPacket.headerBytes + DatagramPacket.tagBytes else { return counts.garbage += 1 }
    guard let path = paths[packet.u64(at: 1)] else { return counts.unknown += 1 }
    switch path.take(kind, packet, from: address, room: room) {
    case .taken: counts.delivered += 1
    case .replayed: counts.replayed += 1
    case .forged: counts.forged += 1
    }
  }
}
