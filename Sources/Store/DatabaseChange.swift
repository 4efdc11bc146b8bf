/// A change of a database as a value, so that changes of several layers can be one transaction.
///
/// It may be made more than once, where a transaction fails and is tried again; it changes nothing but the database.
public struct DatabaseChange: Sendable {
  private let body: @Sendable (Database) throws -> Void

  public init(_ body: @escaping @Sendable (Database) throws -> Void) { self.body = body }

  func make(in database: Database) throws { try body(database) }
}

extension Writer {
  /// Enqueues changes that are one transaction. The answer comes on the writer's thread, nil for success; a returned
  /// error is the answer.
  public nonisolated func enqueue(
    _ changes: [DatabaseChange], answer: @escaping @Sendable ((any Error)?) -> Void
  ) -> StoreError? {
    enqueue({ database in for change in changes { try change.make(in: database) } }, answer: answer)
  }
}
