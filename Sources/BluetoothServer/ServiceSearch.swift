internal import BluetoothProtocol

/// A search for hosts in the service records of a device, as the packets of it (SDP, `ServiceSearchAttribute`; Bluetooth's core
/// specification, volume 3, part B, 4).
///
/// The device may answer anything. The library reads answers too, and never ends with some of eight bytes
/// (docs/decisions/0079). Here each packet and their number have limits, and the answer is read once from its beginning to its end.
struct ServiceSearch {
  enum Step: Hashable {
    /// The next packet to send.
    case ask([UInt8])
    case found([HostRecord])
    /// It is no answer, or one that says nothing.
    case failed
  }

  /// As long as L2CAP allows by default.
  static let packetBytesMax = 672
  /// The answer has 31 KiB at most.
  static let packetsMax = 48
  private static let continuationBytesMax = 16

  private var transaction: UInt16 = 0
  private var packets = 0
  private var lists: [UInt8] = []

  /// The first packet to send.
  var request: [UInt8] { request(continuing: []) }

  private func request(continuing state: ArraySlice<UInt8>) -> [UInt8] {
    // The class; as much as there is; the two attributes that are read.
    let parameters =
      [0x35, 17, 0x1C] + HostRecord.service + [0xFF, 0xFF]
      + [0x35, 6, 0x09] + Self.bytes(HostRecord.protocolsAttribute) + [0x09] + Self.bytes(HostRecord.hostAttribute)
      + [UInt8(state.count)] + state
    return [0x06] + Self.bytes(transaction) + Self.bytes(UInt16(parameters.count)) + parameters
  }

  mutating func handle(_ packet: [UInt8]) -> Step {
    packets += 1
    var rest = packet[...]
    guard packets <= Self.packetsMax, rest.popFirst() == 0x07, Self.takeNumber(&rest) == transaction,
      let count = Self.takeNumber(&rest), count == rest.count,
      let listBytes = Self.takeNumber(&rest), listBytes < rest.count
    else { return .failed }
    lists += rest.prefix(Int(listBytes))
    rest.removeFirst(Int(listBytes))
    guard let stateBytes = rest.popFirst(), stateBytes == rest.count, stateBytes <= Self.continuationBytesMax else {
      return .failed
    }
    if rest.isEmpty { return .found(Self.records(lists)) }
    transaction += 1
    return .ask(request(continuing: rest))
  }

  /// The hosts of a sequence of records, each a sequence of attributes.
  private static func records(_ lists: [UInt8]) -> [HostRecord] {
    var elements = DataElements(lists[...])
    guard case .sequence(let records)? = elements.next() else { return [] }
    var found: [HostRecord] = []
    for case .sequence(let attributes) in records {
      guard let record = HostRecord(attributes), !found.contains(where: { $0.host == record.host }) else { continue }
      found.append(record)
      if found.count == BluetoothReport.hostsMax { break }
    }
    return found
  }

  private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> UInt16? {
    guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
    return UInt16(high) << 8 | UInt16(low)
  }
}
