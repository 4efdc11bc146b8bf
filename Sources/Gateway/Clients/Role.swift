/// What a client may do. Each may all that the one before it may.
enum Role: String, CaseIterable, Comparable, Sendable {
  /// Sees what the gateway's own peer sees.
  case viewer
  /// Has peers of its own.
  case member
  /// Lets others in, and acts as the gateway's own peer.
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
  let name: String
  let role: Role
  var scopes = Scopes.all
  /// Whether the browser sent it by itself, so that somebody else's page may have made it do so.
  var isByCookie = false
}
