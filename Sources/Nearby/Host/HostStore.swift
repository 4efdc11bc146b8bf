internal import Engine
internal import Store
internal import Wire

/// A durable host's stored rows: those of its engine, and the files of its transfers.
struct HostStore: Sendable {
  /// The file of a transfer from before this start, if it can still be used.
  enum KeptFile: Sendable {
    case source(SourceFile)
    case target(TargetFile)
    case lost
  }

  let writer: Writer
  /// As loaded.
  let facts: [Fact]
  let files: [ResourceID: KeptFile]
  private let host: [UInt8]

  /// Nil where nothing is to be stored.
  static func open(_ storage: HostStorage, with keys: KeyStore) async throws -> HostStore? {
    let path: String
    switch (storage, keys.path) {
    case (.none, _):
      return nil
    case (_, nil):
      throw NearbyError(
        .invalidParameter,
        "a host whose keys are kept nowhere cannot go on as the same one: give it keys that last, or no store")
    case (.besideKeys(let name), let folder?): path = "\(folder)/\(name).db"
    case (.file(let file), _): path = file
    }
    return try await HostStore(try Writer(path, schema: .host), keys)
  }

  init(_ writer: Writer, _ keys: KeyStore) async throws {
    let host = Array(HostID(of: keys.hostKey.publicKey).text.utf8)
    self.host = host
    self.writer = writer
    let (facts, transfers) = try await writer.perform { database in
      (
        try database.facts(of: host).map { Fact(key: $0.key, value: $0.value) },
        try database.transfers(of: host)
      )
    }
    self.facts = facts
    var files: [ResourceID: KeptFile] = [:]
    for transfer in transfers { files[ResourceID(rawValue: transfer.id)] = KeptFile(transfer) }
    self.files = files
  }

  // MARK: Changes

  private func set(_ facts: [Fact]) -> DatabaseChange {
    DatabaseChange { [host] database in
      for fact in facts { try database.setFact(fact.key, to: fact.value, of: host) }
    }
  }

  func keep(_ transfer: StoredTransfer) -> DatabaseChange {
    DatabaseChange { [host] database in try database.keep(transfer, of: host) }
  }

  func forget(_ id: ResourceID) -> DatabaseChange {
    DatabaseChange { [host] database in try database.forgetTransfer(id.rawValue, of: host) }
  }

  /// Writes the facts, and all changes after them, in one transaction. The answer comes on the writer's thread, or at
  /// once where there is nothing to write, or the writer is closed.
  func write(_ facts: [Fact], _ changes: [DatabaseChange], answer: @escaping @Sendable ((any Error)?) -> Void) {
    if facts.isEmpty, changes.isEmpty { return answer(nil) }
    if let refusal = writer.enqueue([set(facts)] + changes, answer: answer) { answer(refusal) }
  }
}

extension HostStore.KeptFile {
  /// A file that was replaced does not belong to the transfer any more.
  init(_ transfer: StoredTransfer) {
    if transfer.isIncoming {
      let file = try? TargetFile(restoring: transfer.path, named: transfer.name)
      self = file.map(Self.target) ?? .lost
    } else if let file = try? SourceFile(transfer.path), file.isSame(as: transfer) {
      self = .source(file)
    } else {
      self = .lost
    }
  }
}
