internal import Nearby

/// The owner of an item, which determines the clients that see it.
enum Owner: Hashable, Sendable {
  case client(ClientID)
  /// The numbers of clients that see it, and do not change it. Indirect: each item has an owner, and few this one.
  indirect case clients(NumberSet)
  /// The gateway's own peer: every paired client sees it.
  case gateway
  case operators

  func isSeen(by client: ClientView) -> Bool {
    switch self {
    case .client(let id): client.id == id
    case .clients(let numbers): numbers.contains(client.number)
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

  /// All who see the things of one of these peers.
  init(of peers: some Sequence<PeerModel>) {
    var numbers = NumberSet()
    for peer in peers {
      guard case .client = peer.owner else {
        self = .gateway
        return
      }
      if let number = peer.clientNumber { numbers.insert(number) }
    }
    self = .clients(numbers)
  }
}
