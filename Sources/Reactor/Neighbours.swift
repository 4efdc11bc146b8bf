internal import CLinux
internal import Glibc

/// The kernel's neighbour tables: ARP and the neighbour discovery of IPv6.
public enum Neighbours {
  /// For each address that something was sent to, whether a host has answered for it; with port 0, a link-local one
  /// with its interface.
  public static func answers() throws(SystemError) -> [SocketAddress: Bool] {
    let type = CInt(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue)
    let netlink = Descriptor(
      owning: try system("open a netlink socket") { socket(AF_NETLINK, type, CInt(NETLINK_ROUTE)) })
    let question = question
    try system("ask for neighbours") { send(netlink.number, question, question.count, CInt(MSG_NOSIGNAL)) }
    var answers: [SocketAddress: Bool] = [:]
    var room = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = try system("read neighbours") { recv(netlink.number, &room, room.count, 0) }
      guard read(Array(room.prefix(count)), into: &answers) else { return answers }
    }
  }

  /// A header, and an empty neighbour message: it asks for all of them, of every family.
  private static var question: [UInt8] {
    var header = nlmsghdr()
    header.nlmsg_len = UInt32(headerBytes + neighbourBytes)
    header.nlmsg_type = UInt16(RTM_GETNEIGH)
    header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
    return withUnsafeBytes(of: header, Array.init) + [UInt8](repeating: 0, count: neighbourBytes)
  }

  private static let headerBytes = MemoryLayout<nlmsghdr>.size
  private static let neighbourBytes = MemoryLayout<ndmsg>.size
  private static let attributeBytes = MemoryLayout<rtattr>.size

  /// The hardware address is known, or none is needed.
  private static let isKnown = UInt16(
    NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP)

  /// Parses one piece of the kernel's answer (rtnetlink(7)); false where it was the last.
  static func read(_ bytes: [UInt8], into answers: inout [SocketAddress: Bool]) -> Bool {
    var place = 0
    while let header = bytes.load(nlmsghdr.self, at: place) {
      let end = place + Int(header.nlmsg_len)
      guard end >= place + headerBytes, end <= bytes.count else { return false }
      if header.nlmsg_type == UInt16(NLMSG_DONE) || header.nlmsg_type == UInt16(NLMSG_ERROR) { return false }
      if header.nlmsg_type == UInt16(RTM_NEWNEIGH), let neighbour = bytes.load(ndmsg.self, at: place + headerBytes),
        let address = address(of: neighbour, in: bytes[..<end], from: place + headerBytes + neighbourBytes)
      {
        answers[address] = neighbour.ndm_state & isKnown != 0 || answers[address] == true
      }
      place += aligned(Int(header.nlmsg_len))
    }
    return true
  }

  private static func address(of neighbour: ndmsg, in bytes: ArraySlice<UInt8>, from start: Int) -> SocketAddress? {
    var place = start
    while let attribute = bytes.load(rtattr.self, at: place), attribute.rta_len >= attributeBytes {
      let value = bytes.dropFirst(place + attributeBytes).prefix(Int(attribute.rta_len) - attributeBytes)
      if attribute.rta_type == UInt16(NDA_DST) {
        switch (CInt(neighbour.ndm_family), value.count) {
        case (AF_INET, 4): return SocketAddress(host: .v4(Array(value)), port: 0)
        case (AF_INET6, 16):
          let address = SocketAddress(host: .v6(Array(value), scope: 0), port: 0)
          return address.isLinkLocal ? address.scoped(to: UInt32(bitPattern: neighbour.ndm_ifindex)) : address
        default: return nil
        }
      }
      place += aligned(Int(attribute.rta_len))
    }
    return nil
  }

  /// Messages and attributes begin at multiples of four.
  private static func aligned(_ count: Int) -> Int { (count + 3) & ~3 }
}

extension Collection<UInt8> where Index == Int {
  /// A C struct from its bytes; nil where there are not enough of them.
  fileprivate func load<Value: BitwiseCopyable>(_: Value.Type, at place: Int) -> Value? {
    let size = MemoryLayout<Value>.size
    guard place >= startIndex, endIndex - place >= size else { return nil }
    return Array(self[place..<(place + size)]).withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
  }
}
