/// One item of a collection, as clients see it.
final class Item: Sendable {
  let id: String
  /// Its number among all items that the collection ever had.
  let ordinal: UInt64
  let owner: Owner
  /// The values by which it can be filtered.
  let facets: [String: String]
  /// Its JSON.
  let bytes: [UInt8]
  /// The position of its latest change.
  let position: Position
  /// The member that it shows, if it is one.
  let member: MemberModel?

  init(
    id: String, ordinal: UInt64, owner: Owner, facets: [String: String], bytes: [UInt8], position: Position,
    of member: MemberModel? = nil
  ) {
    self.member = member
    self.id = id
    self.ordinal = ordinal
    self.owner = owner
    self.facets = facets
    self.bytes = bytes
    self.position = position
  }

  func has(_ content: SharedItems.Content) -> Bool { member === content.member && bytes == content.bytes }

  /// The same item of another model of the member.
  func showing(_ member: MemberModel?) -> Item {
    Item(id: id, ordinal: ordinal, owner: owner, facets: facets, bytes: bytes, position: position, of: member)
  }

  var tag: EntityTag { .position(position) }

  static let comma = [UInt8(ascii: ",")]

  /// The JSON of several items, with commas between.
  static func separated(_ items: some Sequence<Item>) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    for item in items {
      if !pieces.isEmpty { pieces.append(comma) }
      pieces.append(item.bytes)
    }
    return pieces
  }
}

extension [String: String] {
  /// Whether an item with these facets passes the filter.
  func isMet(by facets: [String: String]) -> Bool {
    allSatisfy { key, value in
      key == Facet.name.name ? facets[key]?.contains(value) == true : facets[key] == value
    }
  }
}
