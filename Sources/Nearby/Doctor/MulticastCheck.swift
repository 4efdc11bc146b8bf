internal import Glibc

/// Whether multicast goes out and comes in: a question of multicast DNS on each interface, to which every host with
/// such a daemon has an answer.
package struct MulticastCheck: Sendable {
  static let port: UInt16 = 5353
  /// 224.0.0.251, in the order of the wire.
  static let group: UInt32 = 0xFB00_00E0

  /// Who was heard on an interface.
  package struct Heard: Hashable, Sendable {
    let interface: NetworkInterface
    /// The system refused to send there: why.
    var refusal: String?
    /// This host's own daemon.
    var isSelfHeard = false
    var others: Set<UInt32> = []
  }

  package static func listen(
    on interfaces: [NetworkInterface], for time: Duration, pause: (Duration) async -> Void
  ) async -> [Heard] {
    let own = Set(interfaces.flatMap(\.v4))
    let probes = interfaces.filter { $0.canMeet && $0.isMulticast && !$0.v4.isEmpty }.map { MulticastProbe($0) }
    for probe in probes { probe.ask() }
    await pause(time / 2)
    // What is lost once is seldom lost twice.
    for probe in probes { probe.ask() }
    await pause(time / 2)
    return probes.map { $0.heard(own) }
  }

  package static func findings(_ heard: [Heard], _ interfaces: [NetworkInterface], time: Duration) -> [Finding] {
    let mute = interfaces.filter { $0.canMeet && !$0.isMulticast }.map {
      Finding(
        .multicast, .bad, "\($0.name) carries no multicast, so nobody is found there.",
        cure: "ip link set \($0.name) multicast on. Tunnels carry none: use --at ADDRESS for hosts behind one.")
    }
    return mute + heard.map { finding($0, time) }
  }

  private static func finding(_ heard: Heard, _ time: Duration) -> Finding {
    let name = heard.interface.name
    if let refusal = heard.refusal {
      return Finding(
        .multicast, .bad, "Nothing can be sent by multicast on \(name): \(refusal).",
        cure:
          "Look for a route and a firewall rule that forbid it: ip route show table all type multicast; nft list ruleset."
      )
    }
    if !heard.others.isEmpty {
      let hosts = heard.others.sorted().prefix(4).map(NetworkInterface.text).joined(separator: ", ")
      let more = heard.others.count > 4 ? " and \(heard.others.count - 4) more" : ""
      return Finding(.multicast, .good, "Other hosts were heard by multicast on \(name): \(hosts)\(more).")
    }
    let nobody = "Nobody else was heard by multicast on \(name) in \(time.components.seconds) s"
    let cure =
      "If other hosts are there: a firewall on one of the two, or a switch or access point that drops "
      + "multicast (look for IGMP snooping, 'multicast enhancement', client isolation)."
    return heard.isSelfHeard
      ? Finding(.multicast, .doubtful, "\(nobody), only this host's own daemon.", cure: cure)
      : Finding(.multicast, .doubtful, "\(nobody), not even a daemon of this host.", cure: cure)
  }
}

/// One socket at the port of multicast DNS, on one interface.
private final class MulticastProbe {
  private let interface: NetworkInterface
  private let socket: CInt
  /// Why nothing can be heard or, as yet, nothing has gone out.
  private var refusal: String?
  private let isJoined: Bool

  init(_ interface: NetworkInterface) {
    self.interface = interface
    socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    isJoined = Self.join(socket, interface)
    if !isJoined { refusal = String(cString: strerror(errno)) }
  }

  deinit {
    close(socket)
  }

  private static func join(_ socket: CInt, _ interface: NetworkInterface) -> Bool {
    var (yes, hops): (CInt, CInt) = (1, 255)
    let size = socklen_t(MemoryLayout<CInt>.size)
    // The daemon has the port too, and both are told what comes by multicast.
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
    setsockopt(socket, CInt(IPPROTO_IP), IP_MULTICAST_TTL, &hops, size)
    setsockopt(socket, CInt(IPPROTO_IP), IP_MULTICAST_LOOP, &yes, size)
    var request = ip_mreqn()
    request.imr_multiaddr.s_addr = MulticastCheck.group
    request.imr_ifindex = CInt(interface.index)
    let requestSize = socklen_t(MemoryLayout<ip_mreqn>.size)
    // Bound to the group, so that nothing that comes to the daemon alone is taken from it.
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = MulticastCheck.port.bigEndian
    address.sin_addr.s_addr = MulticastCheck.group
    return bound(socket, &address)
      && setsockopt(socket, CInt(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, requestSize) == 0
      && setsockopt(socket, CInt(IPPROTO_IP), IP_MULTICAST_IF, &request, requestSize) == 0
  }

  private static func bound(_ socket: CInt, _ address: inout sockaddr_in) -> Bool {
    withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  func ask() {
    if !isJoined { return }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = MulticastCheck.port.bigEndian
    address.sin_addr.s_addr = MulticastCheck.group
    for question in Set(interface.v4).flatMap(MulticastQuestion.packets) {
      let sent = withUnsafePointer(to: &address) {
        // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(socket, question, question.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      // A packet filter says so with an error, where it drops what this host sends.
      refusal = sent < 0 ? String(cString: strerror(errno)) : nil
    }
  }

  /// All that came since, by its sender. Its own question comes back to it too, and is no answer.
  func heard(_ own: Set<UInt32>) -> MulticastCheck.Heard {
    var heard = MulticastCheck.Heard(interface: interface, refusal: refusal)
    var bytes = [UInt8](repeating: 0, count: 9_000)
    while isJoined {
      var sender = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let count = withUnsafeMutablePointer(to: &sender) {
        // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(socket, &bytes, bytes.count, 0, $0, &length)
        }
      }
      guard count > 0 else { break }
      let address = sender.sin_addr.s_addr
      // The highest bit of the third byte says that it is an answer.
      let isAnswer = count > 2 && bytes[2] & 0x80 != 0
      if !own.contains(address) { heard.others.insert(address) } else if isAnswer { heard.isSelfHeard = true }
    }
    return heard
  }
}
