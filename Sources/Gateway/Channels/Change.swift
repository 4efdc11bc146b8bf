internal import Notation
internal import Web

/// An item that was removed: its ID, and the values by which it could be filtered.
struct RemovedItem: Sendable {
  let id: String
  let facets: [String: String]
}

/// One numbered change of a collection: an item that was put, or items that were removed together.
struct Change: Sendable {
  let offset: UInt64
  let owner: Owner
  let id: String
  /// The item as it is now; nil where it was removed.
  let bytes: [UInt8]?
  /// The item's facets now, and before the change; nil where it was removed, or is new.
  let facets: [String: String]?
  let facetsBefore: [String: String]?
  /// Those that were removed together with this one.
  let others: [RemovedItem]

  init(
    offset: UInt64, owner: Owner, id: String, bytes: [UInt8]?, facets: [String: String]?,
    facetsBefore: [String: String]?, others: [RemovedItem] = []
  ) {
    (self.offset, self.owner, self.id, self.bytes) = (offset, owner, id, bytes)
    (self.facets, self.facetsBefore, self.others) = (facets, facetsBefore, others)
  }

  init(removing items: [RemovedItem], offset: UInt64, owner: Owner) {
    self.init(
      offset: offset, owner: owner, id: items[0].id, bytes: nil, facets: nil, facetsBefore: items[0].facets,
      others: Array(items.dropFirst()))
  }

  /// The IDs of all items that it is about.
  var ids: [String] { [id] + others.map(\.id) }

  /// The JSON of the change in pieces, without a copy of the item's bytes.
  func pieces(putting bytes: [UInt8], in number: Int) -> Pieces {
    Pieces([head(in: number), bytes, [UInt8(ascii: "}")]])
  }

  /// The JSON of the change before the item.
  func head(in number: Int) -> [UInt8] { Array("{\"n\":\(number),\"o\":\(offset),\"put\":".utf8) }

  /// The size of all but the item.
  private static let frameBytes = 64

  /// The frame of a channel with this number: the item that was put, or the IDs of removed ones.
  func json(putting bytes: [UInt8]?, in number: Int) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity((bytes?.count ?? 0) + Self.frameBytes)
    json += "{\"n\":".utf8
    JSON.write(number, to: &json)
    json += ",\"o\":".utf8
    JSON.write(Int(clamping: offset), to: &json)
    if let bytes {
      json += ",\"put\":".utf8
      json += bytes
    } else {
      Self.writeRemoved(ids, to: &json)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// The member of a frame that names removed items.
  static func writeRemoved(_ ids: [String], to json: inout [UInt8]) {
    if ids.count == 1 {
      json += ",\"del\":".utf8
      JSON.write(ids[0], to: &json)
    } else {
      json += ",\"gone\":".utf8
      JSON.list(ids.map(JSON.text)).write(to: &json)
    }
  }

  enum Update {
    case put([UInt8])
    case del([String])
    case nothing
  }

  /// The change for a client with a filter: an item that no longer passes the filter is deleted for that client.
  func update(for client: ClientView, where filter: [String: String]) -> Update {
    guard owner.isSeen(by: client) else { return .nothing }
    if let bytes, let facets, filter.isMet(by: facets) { return .put(bytes) }
    let removed = (facetsBefore.map { [RemovedItem(id: id, facets: $0)] } ?? []) + others
    let seen = removed.filter { filter.isMet(by: $0.facets) }
    return seen.isEmpty ? .nothing : .del(seen.map(\.id))
  }
}
