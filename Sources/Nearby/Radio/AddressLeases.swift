/// The addresses of a small network, and the devices that have them.
///
/// A device that asks again gets the same one. Where none is free there is no answer until a lease is over: a stranger who
/// takes all of them stops newcomers, and disturbs nobody who has one.
struct AddressLeases {
  /// The network of owners of groups of Wi-Fi Direct, as Android has it.
  static let network: [UInt8] = [192, 168, 49]
  static let own = network + [1]
  static let mask: [UInt8] = [255, 255, 255, 0]
  static let hosts: ClosedRange<UInt8> = 10...209
  static let leaseSeconds: UInt32 = 3_600
  /// The time for which an offer holds.
  static let offerSeconds: UInt64 = 60

  private struct Lease {
    let host: UInt8
    /// In seconds.
    var end: UInt64
    /// Whether the device has taken it: until then it is an offer.
    var isTaken = false
    var name: String?
  }

  /// The address that a device has, and the host name that it gave itself.
  struct Holding {
    let address: [UInt8]
    let name: String?
  }

  private enum Answer: UInt8 {
    case offer = 2
    case confirmation = 5
    case refusal = 6
  }

  private var leases: [[UInt8]: Lease] = [:]

  var count: Int { leases.count }

  /// Nil where the device has taken no address, or its lease is over.
  func holding(of hardware: [UInt8], at now: UInt64) -> Holding? {
    guard let lease = leases[hardware], lease.isTaken, lease.end > now else { return nil }
    return Holding(address: Self.network + [lease.host], name: lease.name)
  }

  /// The answer at a time in seconds; nil where there is none.
  mutating func answer(_ request: AddressRequest, at now: UInt64) -> [UInt8]? {
    if let server = request.server, server != Self.own { return nil }
    switch request.kind {
    case .discover:
      guard let host = host(for: request, at: now) else { return nil }
      return message(.offer, to: request, Self.network + [host])
    case .request:
      let wanted = request.wanted ?? request.address
      guard var lease = leases[request.hardware], wanted == Self.network + [lease.host] else {
        return message(.refusal, to: request, nil)
      }
      lease.end = now + UInt64(Self.leaseSeconds)
      lease.isTaken = true
      lease.name = request.name ?? lease.name
      leases[request.hardware] = lease
      return message(.confirmation, to: request, wanted)
    case .release:
      leases[request.hardware] = nil
      return nil
    }
  }

  private mutating func host(for request: AddressRequest, at now: UInt64) -> UInt8? {
    let end = now + Self.offerSeconds
    if let lease = leases[request.hardware] {
      leases[request.hardware]?.end = max(lease.end, end)
      return lease.host
    }
    leases = leases.filter { $0.value.end > now }
    let taken = Set(leases.values.map(\.host))
    var wanted: [UInt8] = []
    if let address = request.wanted, Array(address.dropLast()) == Self.network { wanted = [address[3]] }
    guard let host = (wanted + Self.hosts).first(where: { Self.hosts.contains($0) && !taken.contains($0) }) else {
      return nil
    }
    leases[request.hardware] = Lease(host: host, end: end)
    return host
  }

  private func message(_ answer: Answer, to request: AddressRequest, _ address: [UInt8]?) -> [UInt8] {
    var bytes: [UInt8] = [2, 1, UInt8(AddressRequest.hardwareBytes), 0] + request.transaction + [0, 0] + request.flags
    bytes += [0, 0, 0, 0] + (address ?? [0, 0, 0, 0]) + [UInt8](repeating: 0, count: 8) + request.hardware
    // The rest of the hardware address's field, and names of a server and of a file to start from.
    bytes += [UInt8](repeating: 0, count: 10 + 64 + 128)
    bytes += AddressRequest.cookie + [53, 1, answer.rawValue, 54, 4] + Self.own
    if address != nil {
      // No router and no server of names: a phone keeps those that it has.
      bytes += [51, 4] + withUnsafeBytes(of: Self.leaseSeconds.bigEndian, Array.init) + [1, 4] + Self.mask
    }
    bytes.append(255)
    // Some clients drop messages under the size of BOOTP.
    return bytes + [UInt8](repeating: 0, count: max(0, 300 - bytes.count))
  }
}
