/// The permissions of a client. Each role has those of the one before it.
enum Role: String, CaseIterable, Comparable, Sendable {
  /// Sees what the gateway's own peer sees.
  case viewer
  /// Has peers of its own.
  case member
  /// Admits other clients, and acts as the gateway's own peer.
  case `operator`
  /// Everything.
  case admin

  static func < (a: Role, b: Role) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .viewer: 0
    case .member: 1
    case .operator: 2
    case .admin: 3
    }
  }
}

struct ClientID: Hashable, Sendable, CustomStringConvertible {
  let text: String
  var description: String { text }
}

/// A client as a request knows it.
struct ClientView: Hashable, Sendable {
  let id: ClientID
  /// Its number among all clients since the gateway was started; none has that of another, also once it is gone.
  var number = Int.max
  let name: String
  let role: Role
  var scopes = Scopes.all
  /// Whether the browser sent its token by itself, so that a page of another site may have caused the request.
  var usesCookie = false
}
