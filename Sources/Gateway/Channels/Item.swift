internal import Notation

/// One thing in a collection, as clients see it.
struct Item: Sendable {
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

  /// An entity tag: it changes when the thing does.
  var tag: String { "\"\(position)\"" }
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
}
