/// The attacks of a malicious relay on the circuits through it, and its lies about others; in all else it is honest.
struct RelayMalice: OptionSet, Sendable {
  let rawValue: UInt8

  static let drops = RelayMalice(rawValue: 1 << 0)
  /// Holds a frame back until the next one has gone.
  static let reorders = RelayMalice(rawValue: 1 << 1)
  static let truncates = RelayMalice(rawValue: 1 << 2)
  static let changes = RelayMalice(rawValue: 1 << 3)
  static let replays = RelayMalice(rawValue: 1 << 4)
  /// Reports hosts that are not there, and takes back those that are.
  static let lies = RelayMalice(rawValue: 1 << 5)
  /// Passes on nothing for a time of up to four seconds.
  static let delays = RelayMalice(rawValue: 1 << 6)
  /// Leads circuits, and passes on none of their bytes for longer than a pair lasts without a link.
  static let swallows = RelayMalice(rawValue: 1 << 7)
  static let count = 8

  static func drawn(_ random: inout Random) -> RelayMalice {
    var malice: RelayMalice = []
    for _ in 0..<random.within(1...3) { malice.insert(RelayMalice(rawValue: 1 << UInt8(random.below(count)))) }
    return malice
  }
}
