/// The attacks of a malicious host; each of these alone, or several.
struct Malice: OptionSet, Sendable {
  let rawValue: UInt16

  static let garbage = Malice(rawValue: 1 << 0)
  static let truncates = Malice(rawValue: 1 << 1)
  static let replays = Malice(rawValue: 1 << 2)
  static let forgesCarriers = Malice(rawValue: 1 << 3)
  static let forgesIntroductions = Malice(rawValue: 1 << 4)
  static let floods = Malice(rawValue: 1 << 5)
  static let crowds = Malice(rawValue: 1 << 6)
  static let liesAboutSequences = Malice(rawValue: 1 << 7)
  static let oversizes = Malice(rawValue: 1 << 8)
  static let joins = Malice(rawValue: 1 << 9)
  /// About sizes, ranges, digests and credit.
  static let liesAboutFlows = Malice(rawValue: 1 << 10)
  static let floodsFlows = Malice(rawValue: 1 << 11)
  static let neverFinishes = Malice(rawValue: 1 << 12)
  static let neverReads = Malice(rawValue: 1 << 13)
  /// Asks endpoints that wait for others.
  static let connects = Malice(rawValue: 1 << 14)
  /// Asks a relay for circuits without end, and sends over them without credit.
  static let floodsCircuits = Malice(rawValue: 1 << 15)
  static let count = 16

  /// Attacks that need a connection with their victims.
  static let flows: Malice = [.liesAboutFlows, .floodsFlows, .neverFinishes, .neverReads]

  /// Attacks that need to be in a session first.
  static let insiders: Malice = [.forgesIntroductions, .crowds, .liesAboutSequences, .joins, .flows]

  static func drawn(_ random: inout Random) -> Malice {
    var malice: Malice = []
    for _ in 0..<random.within(1...3) { malice.insert(Malice(rawValue: 1 << UInt16(random.below(10)))) }
    return malice
  }

  static func drawnOfFlows(_ random: inout Random) -> Malice {
    var malice: Malice = []
    for _ in 0..<random.within(1...2) {
      malice.insert(random.pick([.liesAboutFlows, .liesAboutFlows, .floodsFlows, .neverFinishes, .neverReads]))
    }
    return malice
  }
}
