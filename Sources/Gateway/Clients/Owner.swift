/// The owner of an item, which determines the clients that see it.
enum Owner: Hashable, Sendable {
  case client(ClientID)
  /// The gateway's own peer: every paired client sees it.
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
  func isChangeable(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .gateway, .operators: client.role >= .operator
    }
  }
}
