internal import Glibc
public import Reactor
public import Wire

/// What a datagram port tells the one that probes with it, always from the loop and never from within a call.
public protocol DatagramPortOwner: AnyObject {
  /// A host that was asked for by this tag is there.
  func answered(_ tag: UInt64, from address: SocketAddress)
}

/// One UDP socket for all hosts: it asks whether they are there and answers when asked, and carries the datagrams of
/// links.
///
/// Laws:
/// - An answer goes to the address that the question came from, is no larger than it, and comes at a limited rate.
/// - A question of its own that comes back is not answered: where a host hears itself, there is no other.
/// - What is neither sealed by a link's other end nor asked for changes nothing but a count: no memory, no answer.
///
/// It belongs to its reactor's thread.
public final class DatagramPort {
  /// What came and went, for whoever explains why nothing gets through.
  public struct Counts: Sendable, Hashable {
    public var sent = 0
    /// What the network or a full socket did not take.
    public var unsent = 0
    public var delivered = 0
    public var probesAnswered = 0
    /// For another host, of its own, or past the rate at which probes are answered.
    public var probesIgnored = 0
    /// Packets of no known form or length, and answers to what was not asked.
    public var garbage = 0
    /// Of links that are not here, or not yet, or no more.
    public var unknown = 0
    public var replayed = 0
    public var forged = 0
  }

  /// What is read in one turn before others have theirs.
  private static let packetsPerTurnMax = 64

  /// Where it is, with the port that was found.
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
  /// For a packet on its way out, one that comes in, and what is in it. The last two bytes of the second show what is too
  /// long.
  private let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: 3 * (DatagramPacket.bytesMax + 16), alignment: 16)

  /// Takes a port, best the one where the host listens for links, since that is where others knock; where it is taken by
  /// somebody else, a free one.
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

  /// Ends it, and all paths with it, without a word.
  public func close() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
    for path in paths.values { path.close() }
  }

  // MARK: Probes

  /// Asks at each address whether the host is there. An answer is told once, with the tag; that none came, nobody says.
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
    } else if host != self.host || probes.holds(nonce) || !allowance.allows(address, at: Reactor.now) {
      counts.probesIgnored += 1
    } else {
      counts.probesAnswered += 1
      send(.answer, host, nonce, to: address)
    }
  }

  // MARK: Paths

  /// Opens the way for a link's datagrams, once the link is open; to be closed when that is closed. The side that dialled
  /// knocks where the link goes, or at the address given; the other one finds out where knocks come from.
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

  /// Sends a packet of so many bytes, which `fill` writes; false where it did not go.
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
      // An error tells of one that was sent, and is gone with that; what is left comes in the next turn.
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
