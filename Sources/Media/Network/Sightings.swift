internal import Engine

/// The numbers by which the engine knows the records that the media see.
struct Sightings {
  private struct Record: Hashable {
    let medium: ObjectIdentifier
    let id: SeenID
  }

  private var numbers: [Record: SightingID] = [:]
  private var records: [SightingID: (medium: any Medium, id: SeenID)] = [:]
  private var last: UInt64 = 0

  subscript(_ number: SightingID) -> (medium: any Medium, id: SeenID)? { records[number] }

  func number(of id: SeenID, by medium: any Medium) -> SightingID? {
    numbers[Record(medium: ObjectIdentifier(medium), id: id)]
  }

  /// Returns the number that it has, or a new one.
  mutating func add(_ id: SeenID, by medium: any Medium) -> SightingID {
    if let known = number(of: id, by: medium) { return known }
    last += 1
    let number = SightingID(rawValue: last)
    numbers[Record(medium: ObjectIdentifier(medium), id: id)] = number
    records[number] = (medium, id)
    return number
  }

  mutating func remove(_ id: SeenID, by medium: any Medium) -> SightingID? {
    guard let number = numbers.removeValue(forKey: Record(medium: ObjectIdentifier(medium), id: id)) else { return nil }
    records[number] = nil
    return number
  }
}
