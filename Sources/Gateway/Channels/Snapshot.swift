internal import Notation
internal import Web

/// All items of a collection as one object of JSON, in pieces. Where they are too many for one response, it has the
/// latest of them, and names the `oldest` of all, from which on the others are pages of the list.
///
/// An item that changes before its piece is written is in it in its new state, or is missing; the changes after the
/// position report it once more. A durable channel does not publish that items leave it: a snapshot that would miss
/// such an item, between those written and those still there, is torn and ends.
struct Snapshot: Sequence, IteratorProtocol {
  static let itemsMax = 10_000
  static let bytesMax = 16 << 20
  /// Limit for the bytes that are read at once, but for one item that is larger.
  private static let pieceBytes = 16 << 10

  private enum Stage {
    case opening(members: [UInt8])
    case items(after: UInt64)
    case closing
    case over
    case torn
  }

  let position: Position
  /// Items with larger ordinals came after it began.
  private let lastOrdinal: UInt64
  private let collection: Collection
  private let client: ClientView
  private let filter: [String: String]
  private var stage: Stage

  var isTorn: Bool { if case .torn = stage { true } else { false } }

  /// The object begins with the caller's members, and the number of changes that the client missed after `since`.
  init(
    of collection: Collection, since: Position?, for client: ClientView, where filter: [String: String] = [:],
    _ members: [JSON.Member] = []
  ) {
    self.collection = collection
    self.client = client
    self.filter = filter
    position = collection.position
    lastOrdinal = collection.lastOrdinal
    let members = Self.members(members, of: collection, at: position, since: since, for: client, where: filter)
    stage = .opening(members: JSON.object(members).bytes)
  }

  /// The caller's members, and those that every snapshot has beside its items.
  static func members(
    _ members: [JSON.Member], of collection: Collection, at position: Position, since: Position?,
    for client: ClientView, where filter: [String: String] = [:]
  ) -> [JSON.Member] {
    var members = members + [.init("position", .text(position.description)), .init("recovered", .bool(false))]
    if let since, since.epoch == position.epoch, since.offset <= position.offset {
      members.append(.init("missed", .number(Int(position.offset - since.offset))))
    }
    if let oldest = collection.historySource?.oldest?.id ?? collection.oldestOmittedID(for: client, where: filter) {
      members.append(.init("oldest", .text(oldest)))
    }
    return members
  }

  /// The whole snapshot, as it is now.
  func pieces() -> Pieces {
    var all = Pieces()
    for piece in self { all.append(piece) }
    return all
  }

  mutating func next() -> Pieces? {
    switch stage {
    case .opening(let members):
      // The first items are of the same moment as the members before them.
      let head = members.dropLast() + Array(",\"items\":[".utf8)
      stage = .closing
      let first = collection.latest(Self.itemsMax, bytes: Self.bytesMax, for: client, where: filter).first
      guard let first, let items = items(after: first.ordinal - 1, behind: Array(head)) else { return Pieces([head]) }
      return items
    case .items(let after):
      if collection.lastEvictedOrdinal > after {
        stage = .torn
        return nil
      }
      return items(after: after, behind: Item.comma) ?? next()
    case .closing:
      stage = .over
      return Pieces([Array("]}".utf8)])
    case .over, .torn: return nil
    }
  }

  /// The items that fit into one piece, after a text; nil once none is left.
  private mutating func items(after ordinal: UInt64, behind text: [UInt8]) -> Pieces? {
    let page = collection.page(after: ordinal, atMost: .max, bytes: Self.pieceBytes, for: client, where: filter)
    let items = page.items.prefix { $0.ordinal <= lastOrdinal }
    stage = .closing
    guard let last = items.last else { return nil }
    if page.hasMore { stage = .items(after: last.ordinal) }
    return Pieces([text] + Item.separated(items))
  }
}

extension Collection {
  /// The first item of all, where a snapshot has no room for it.
  fileprivate func oldestOmittedID(for client: ClientView, where filter: [String: String]) -> String? {
    guard count > Snapshot.itemsMax || bytes > Snapshot.bytesMax,
      let first = page(after: 0, atMost: 1, for: client, where: filter).items.first,
      let told = latest(Snapshot.itemsMax, bytes: Snapshot.bytesMax, for: client, where: filter).first
    else { return nil }
    return first.ordinal < told.ordinal ? first.id : nil
  }
}
