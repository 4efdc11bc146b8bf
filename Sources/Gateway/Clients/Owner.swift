/// The owner of an item, which determines the clients that see it.
enum Owner: Hashable, Sendable {
  case client(ClientID)
  /// Clients that see it, and do not change it.
  case clients(Set<ClientID>)
  /// The gateway's own peer: every paired client sees it.
  case gateway
  case operators

  func isSeen(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .clients(let ids): ids.contains(client.id)
    case .gateway: true
    case .operators: client.role >= .operator
    }
  }

  /// Whether the client may change it, as far as its role lets it change anything.
  func isChangeable(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .clients: false
    case .gateway, .operators: client.role >= .operator
    }
  }

  /// All who see the things of one of these.
  init(anyOf owners: some Sequence<Owner>) {
    var ids: Set<ClientID> = []
    for owner in owners {
      guard case .client(let id) = owner else {
        self = .gateway
        return
      }
      ids.insert(id)
    }
    self = .clients(ids)
  }
}
