internal import Notation
internal import Web

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

/// One numbered change of a collection.
struct Change: Sendable {
  let offset: UInt64
  let owner: Owner
  let id: String
  /// The item as it is now; nil where it was removed.
  let bytes: [UInt8]?
  /// The item's facets now, and before the change; nil where it was removed, or is new.
  let facets: [String: String]?
  let facetsBefore: [String: String]?

  /// The JSON of the change in pieces, without a copy of the item's bytes.
  func pieces(putting bytes: [UInt8], in number: Int) -> Pieces {
    Pieces([head(in: number), bytes, [UInt8(ascii: "}")]])
  }

  /// The JSON of the change before the item.
  func head(in number: Int) -> [UInt8] { Array("{\"n\":\(number),\"o\":\(offset),\"put\":".utf8) }

  enum Update {
    case put([UInt8])
    case del
    case nothing
  }

  /// The size of all but the item, or its id.
  private static let frameBytes = 64

  /// The JSON of the change: the item that was put, or the id of a removed one; with the channel's number where several
  /// channels share a connection.
  func json(putting bytes: [UInt8]?, in number: Int? = nil) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity((bytes?.count ?? id.utf8.count) + Self.frameBytes)
    if let number {
      json += "{\"n\":".utf8
      JSON.write(number, to: &json)
      json += ",\"o\":".utf8
    } else {
      json += "{\"o\":".utf8
    }
    JSON.write(Int(clamping: offset), to: &json)
    if let bytes {
      json += ",\"put\":".utf8
      json += bytes
    } else {
      json += ",\"del\":".utf8
      JSON.write(id, to: &json)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// The change for a client with a filter: an item that no longer passes the filter is deleted for that client.
  func update(for client: ClientView, where filter: [String: String]) -> Update {
    guard owner.isSeen(by: client) else { return .nothing }
    func isIn(_ facets: [String: String]?) -> Bool { facets.map { filter.isMet(by: $0) } ?? false }
    if let bytes, isIn(facets) { return .put(bytes) }
    return isIn(facetsBefore) ? .del : .nothing
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
