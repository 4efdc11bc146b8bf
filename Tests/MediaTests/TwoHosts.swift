import Media
import Reactor
import Testing
import Wire

/// Two hosts with a link and a datagram port each, and the ferry between the ports.
final class TwoHosts {
  let rig: Rig
  let host: RecordingHost
  let guest: RecordingHost
  let ferry: PacketRelay
  private(set) var link: SecureLink?

  init(_ limits: DatagramPath.Limits = .init()) throws {
    rig = try Rig()
    host = try RecordingHost(rig.hostKey, on: rig.reactor, limits)
    guest = try RecordingHost(rig.guestKey, on: rig.reactor, limits)
    ferry = try PacketRelay(to: host.port.address, on: rig.reactor)
    guest.knocksAt = ferry.address
    try rig.listen(for: host)
    link = try rig.dial(guest)
  }

  /// Runs until both can send, and then calls the action.
  func run(onceProved action: @escaping () -> Void) {
    for (end, other) in [(host, guest), (guest, host)] {
      end.carries = { [unowned other] bytes in
        guard bytes > 0, other.bytesMax.last ?? 0 > 0 else { return }
        end.carries = { _ in }
        other.carries = { _ in }
        action()
      }
    }
    run()
  }

  func run() {
    rig.run()
    host.path?.close()
    guest.path?.close()
  }

  func stop() { rig.reactor.stop() }
}

/// One side: owner of its link, its port and its path, which records its events.
final class RecordingHost: SecureLinkOwner, DatagramPortOwner, DatagramPathOwner {
  private(set) var port: DatagramPort!  // once `init` is done
  private(set) var path: DatagramPath?
  private(set) var datagrams: [[UInt8]] = []
  private(set) var bytesMax: [Int] = []
  private(set) var answers: [UInt64] = []
  var knocksAt: SocketAddress?
  var carries: (Int) -> Void = { _ in }
  var came: () -> Void = {}
  var answered: () -> Void = {}

  init(
    _ key: SigningKey, at address: SocketAddress = .loopback(port: 0), on reactor: Reactor,
    _ limits: DatagramPath.Limits = .init()
  ) throws {
    port = try DatagramPort(
      at: address, host: HostID(of: key.publicKey), on: reactor, pathLimits: limits, owner: self)
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    path = port.open(for: link, at: knocksAt, owner: self)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) {}

  func answered(_ tag: UInt64, from address: SocketAddress) {
    answers.append(tag)
    answered()
  }

  func carries(datagramBytesMax: Int, on path: DatagramPath) {
    bytesMax.append(datagramBytesMax)
    carries(datagramBytesMax)
  }

  func received(datagram: RawSpan, on path: DatagramPath) {
    datagrams.append(datagram.withUnsafeBytes(Array.init))
    came()
  }

  @discardableResult
  func send(_ datagram: [UInt8]) -> Bool { path?.send(datagram.span.bytes) ?? false }
}

/// A carrier of packets between a guest and a host, which may do anything with them.
final class PacketRelay {
  private let reactor: Reactor
  private let target: SocketAddress
  private let near: Descriptor
  private var far: Descriptor
  private var guest: SocketAddress?
  private var nearRegistration: Registration?
  private var farRegistration: Registration?
  let address: SocketAddress
  /// The treatment of a packet each way.
  var forth: ([UInt8]) -> [[UInt8]] = { [$0] }
  var back: ([UInt8]) -> [[UInt8]] = { [$0] }
  /// Every packet that came.
  private(set) var packets: [[UInt8]] = []

  init(to target: SocketAddress, on reactor: Reactor) throws {
    self.reactor = reactor
    self.target = target
    near = try .datagrams(at: .loopback(port: 0))
    far = try .datagrams(at: .loopback(port: 0))
    address = try #require(try near.localAddress())
    nearRegistration = try reactor.register(near, for: .readable) { [unowned self] _ in
      while let (packet, from) = Self.next(near) {
        guest = from
        packets.append(packet)
        for packet in forth(packet) { Self.send(packet, far, target) }
      }
    }
    try watchFar()
  }

  private func watchFar() throws {
    farRegistration = try reactor.register(far, for: .readable) { [unowned self] _ in
      while let (packet, _) = Self.next(far) {
        packets.append(packet)
        for packet in back(packet) { if let guest { Self.send(packet, near, guest) } }
      }
    }
  }

  /// Moves the guest: its packets come from another address from now on, and packets to the old one are lost.
  func move() throws {
    if let farRegistration { reactor.deregister(farRegistration) }
    far = try .datagrams(at: .loopback(port: 0))
    try watchFar()
  }

  /// The guest's address as the host sees it.
  var exit: SocketAddress? { try? far.localAddress() }

  private static func next(_ socket: borrowing Descriptor) -> ([UInt8], SocketAddress)? {
    var from: SocketAddress?
    let packet = [UInt8](unsafeUninitializedCapacity: 2_048) { room, count in
      let came = try? socket.receive(into: UnsafeMutableRawBufferPointer(room))
      (count, from) = (came?.bytes ?? 0, came?.from)
    }
    return from.map { (packet, $0) }
  }

  static func send(_ packet: [UInt8], _ socket: borrowing Descriptor, _ address: SocketAddress) {
    packet.withUnsafeBytes { _ = try? socket.send($0, to: address) }
  }
}
