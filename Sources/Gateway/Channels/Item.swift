internal import Notation
internal import Web

/// One thing in a collection, as clients see it.
final class Item: Sendable {
  let id: String
  /// Where it stands among all that ever were in its collection.
  let ordinal: UInt64
  let owner: Owner
  /// What it can be asked for by.
  let facets: [String: String]
  /// Its JSON.
  let bytes: [UInt8]
  /// Of its latest change.
  let position: Position

  init(id: String, ordinal: UInt64, owner: Owner, facets: [String: String], bytes: [UInt8], position: Position) {
    self.id = id
    self.ordinal = ordinal
    self.owner = owner
    self.facets = facets
    self.bytes = bytes
    self.position = position
  }

  var tag: EntityTag { .position(position) }

  static let comma = [UInt8(ascii: ",")]

  /// The JSON of several, with commas between.
  static func separated(_ items: some Sequence<Item>) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    for item in items {
      if !pieces.isEmpty { pieces.append(comma) }
      pieces.append(item.bytes)
    }
    return pieces
  }
}

/// To whom a thing belongs, which says who sees it.
enum Owner: Hashable, Sendable {
  case client(ClientID)
  /// The gateway's own peer: whoever is paired sees it.
  case gateway
  case operators

  func isSeen(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .gateway: true
    case .operators: client.role >= .operator
    }
  }

  /// Whether the client may change it, as far as its role lets it change anything.
  func isRuled(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .gateway, .operators: client.role >= .operator
    }
  }
}

/// One numbered change of a collection.
struct Change: Sendable {
  let offset: UInt64
  let owner: Owner
  let id: String
  /// The thing as it is now; nil where it is gone.
  let bytes: [UInt8]?
  /// What it can be asked for by now, and could be before; nil where it is gone, or was not there.
  let facets: [String: String]?
  let facetsBefore: [String: String]?

  /// The same as its channel tells it, with the bytes where they are.
  func pieces(putting bytes: [UInt8], in number: Int) -> Pieces {
    Pieces([Array("{\"n\":\(number),\"o\":\(offset),\"put\":".utf8), bytes, [UInt8(ascii: "}")]])
  }

  enum Telling {
    case put([UInt8])
    case del
    case nothing
  }

  /// As every channel tells it: what was put, or that the thing is gone; with the channel's number where it is one of
  /// several on a way.
  func json(putting bytes: [UInt8]?, in number: Int? = nil) -> [UInt8] {
    var json = Array("{\(number.map { "\"n\":\($0)," } ?? "")\"o\":\(offset),".utf8)
    if let bytes {
      json += Array("\"put\":".utf8) + bytes
    } else {
      json += Array("\"del\":".utf8) + JSON.text(id).bytes
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  /// What it is to somebody who looks at a part of the collection: what leaves that part is gone from there.
  func telling(to client: ClientView, where filter: [String: String]) -> Telling {
    guard owner.isSeen(by: client) else { return .nothing }
    func isIn(_ facets: [String: String]?) -> Bool { facets.map { filter.isMet(by: $0) } ?? false }
    if let bytes, isIn(facets) { return .put(bytes) }
    return isIn(facetsBefore) ? .del : .nothing
  }
}

extension [String: String] {
  /// Whether a thing of these facets is one that is asked for.
  func isMet(by facets: [String: String]) -> Bool { allSatisfy { facets[$0.key] == $0.value } }
}
