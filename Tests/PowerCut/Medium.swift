/// The bytes of one file, as a reader sees them and as a disk has them.
///
/// After the last sync before a cut each sector of each write reaches the disk or does not, whatever becomes of the
/// others. So those of one write are torn apart, and later ones overtake earlier ones. One sector may be begun and not
/// ended. A file may have grown by bytes that were never written to it. What lies beside a write stays as it is: SQLite
/// counts on that unless it is told otherwise (`SQLITE_POWERSAFE_OVERWRITE`), and so does `Store`.
struct Medium {
  private static let sectorBytes = 512

  /// The content as a reader sees it.
  private var seen: [UInt8]
  /// The content after a power cut; nil as long as a later sync brings all to the disk.
  private var left: [UInt8]?

  init(_ bytes: [UInt8], isLoose: Bool) {
    seen = bytes
    if isLoose { left = bytes }
  }

  var leftBytes: [UInt8] { left ?? seen }

  /// The last sync before the cut.
  mutating func settle() { left = seen }

  mutating func write(_ bytes: [UInt8], at offset: Int, _ luck: inout SurvivalChance) {
    let end = offset + bytes.count
    if seen.count < end { seen += [UInt8](repeating: 0, count: end - seen.count) }
    seen.replaceSubrange(offset..<end, with: bytes)
    guard left != nil else { return }
    if luck.strikes() { grow(to: seen.count, &luck) }
    var lower = offset
    while lower < end {
      let upper = min(end, (lower / Self.sectorBytes + 1) * Self.sectorBytes)
      if luck.strikes() {
        let part = luck.tears() ? lower..<luck.chance.number(in: lower..<upper) : lower..<upper
        grow(to: part.upperBound, &luck)
        left?.replaceSubrange(part, with: bytes[part.lowerBound - offset..<part.upperBound - offset])
      }
      lower = upper
    }
  }

  mutating func resize(to size: Int, _ luck: inout SurvivalChance) {
    Self.resize(&seen, to: size)
    guard var left, luck.strikes() else { return }
    Self.resize(&left, to: size)
    self.left = left
  }

  private static func resize(_ bytes: inout [UInt8], to size: Int) {
    bytes.removeLast(max(0, bytes.count - size))
    bytes += [UInt8](repeating: 0, count: size - bytes.count)
  }

  private mutating func grow(to size: Int, _ luck: inout SurvivalChance) {
    guard let count = left?.count, count < size else { return }
    left? += luck.junk(size - count)
  }
}

/// How much of what was not synced a cut leaves.
struct SurvivalChance {
  var chance: Chance
  private let share: Double

  init(_ seed: UInt64) {
    chance = Chance(seed)
    share = [0, 0.1, 0.5, 0.9, 1].randomElement(using: &chance) ?? 0
  }

  /// Whether something that was not synced has reached the disk.
  mutating func strikes() -> Bool { chance.hits(share) }

  mutating func tears() -> Bool { chance.hits(0.1) }

  /// The earlier content of the disk.
  mutating func junk(_ count: Int) -> [UInt8] {
    if chance.hits(0.5) { return [UInt8](repeating: 0, count: count) }
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
  }
}
