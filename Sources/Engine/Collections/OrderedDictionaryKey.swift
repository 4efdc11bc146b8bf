import Wire

protocol OrderedDictionaryKey: Hashable {
  /// A hash: equal for equal keys, and collisions are no more frequent than by chance, whoever chose the keys.
  var spread: UInt64 { get }
}

private enum Secret {
  /// Nobody outside the process knows these, so nobody can choose colliding keys. They change the time that a look-up
  /// takes and nothing else.
  static let one = UInt64(truncatingIfNeeded: "one".hashValue) | 1
  static let other = UInt64(truncatingIfNeeded: "other".hashValue) | 1
}

private func mixed(_ one: UInt64, _ other: UInt64 = 0) -> UInt64 {
  let product = (one ^ Secret.one).multipliedFullWidth(by: other ^ Secret.other)
  return product.high ^ product.low
}

extension PeerID: OrderedDictionaryKey { var spread: UInt64 { mixed(raw.high, raw.low) } }
extension HostID: OrderedDictionaryKey { var spread: UInt64 { mixed(raw.high, raw.low) } }
extension EndpointID: OrderedDictionaryKey { var spread: UInt64 { mixed(raw.high, raw.low) } }

extension Int: OrderedDictionaryKey { var spread: UInt64 { mixed(UInt64(truncatingIfNeeded: self)) } }
extension UInt32: OrderedDictionaryKey { var spread: UInt64 { mixed(UInt64(self)) } }
extension UInt64: OrderedDictionaryKey { var spread: UInt64 { mixed(self) } }
extension LinkID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension DialID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension StreamID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension ResourceID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension CircuitID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension SightingID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension InvitationID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension DecisionID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension ComparisonID: OrderedDictionaryKey { var spread: UInt64 { mixed(rawValue) } }
extension Reason: OrderedDictionaryKey { var spread: UInt64 { mixed(UInt64(rawValue)) } }

extension ServiceType: OrderedDictionaryKey {
  /// At most fifteen bytes, packed into two words.
  var spread: UInt64 {
    var (high, low): (UInt64, UInt64) = (0, 0)
    for byte in text.utf8 { (high, low) = (high << 8 | low >> 56, low << 8 | UInt64(byte)) }
    return mixed(high, low)
  }
}

extension Discovery.ServiceInstance: OrderedDictionaryKey { var spread: UInt64 { mixed(type.spread, peer.spread) } }
extension Discovery.Place: OrderedDictionaryKey { var spread: UInt64 { mixed(type.spread, host.spread) } }
extension DirtySet.MemberKey: OrderedDictionaryKey { var spread: UInt64 { mixed(group.spread, endpoint.spread) } }
extension DirtySet.PresenceKey: OrderedDictionaryKey { var spread: UInt64 { mixed(group.spread, host.spread) } }
extension DirtySet.CohortKey: OrderedDictionaryKey { var spread: UInt64 { mixed(group.spread, number.spread) } }
extension DirtySet.RecordKey: OrderedDictionaryKey { var spread: UInt64 { mixed(host.spread, ordinal.spread) } }

extension EngineTimer: OrderedDictionaryKey {
  var spread: UInt64 {
    switch self {
    case .link(let id): mixed(0, id.spread)
    case .bond(let id): mixed(1, id.spread)
    case .host(let id): mixed(2, id.spread)
    case .invitation(let id): mixed(3, id.spread)
    case .decision(let id): mixed(4, id.spread)
    case .comparison(let id): mixed(5, id.spread)
    case .group(let serial): mixed(6, serial.spread)
    case .clock(let serial): mixed(10, serial.spread)
    case .adhoc(let id): mixed(7, id.spread)
    case .turns(let serial): mixed(13, serial.spread)
    case .resource(let id): mixed(8, id.spread)
    case .circuits: mixed(11)
    case .restoring: mixed(9)
    }
  }
}
