internal import Nearby
internal import Store

extension Schema {
  /// The database of a gateway and its host.
  static let gateway = Schema([.host, .gateway])
}

extension Schema.Layer {
  /// The tables of a gateway. Each family of tables is one file, with its migrations and its queries.
  static let gateway = Schema.Layer(
    "gateway",
    [
      .clients, .sessions, .resources, .intents, .messagesInOrder, .scopes, .audit, .peerKeys, .settings,
      .sharedMessages,
    ],
    counted: 2..<9)
}

extension PendingWrite {
  /// A change of the gateway's tables.
  init(
    _ change: @escaping @Sendable (Database) throws -> Void, settle: @escaping (_ isStored: Bool) -> Void = { _ in }
  ) {
    self.init(DatabaseChange(change), settle: settle)
  }
}
