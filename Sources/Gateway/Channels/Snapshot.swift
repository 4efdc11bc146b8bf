internal import Notation
internal import Web

/// All things of a collection anew, as one object of JSON in pieces: where they are too many for one answer, the latest of
/// them, and which one is the `oldest` of all, from which on the others are pages of the list.
///
/// What has changed before its piece is written is in it as it is by then, or is not; whoever reads it is told of that once
/// more, by what follows the position. Nobody is told of what leaves a channel that lasts: a snapshot that it would be
/// missing in, between what was told and what is there, is torn and ends.
struct Snapshot: Sequence, IteratorProtocol {
  static let itemsMax = 10_000
  static let bytesMax = 16 << 20
  /// Limit for what is looked up at once, but for one thing that is larger.
  private static let pieceBytes = 16 << 10

  private enum Stage {
    case opening(members: [UInt8])
    case items(after: UInt64)
    case closing
    case over
    case torn
  }

  let position: Position
  private let collection: Collection
  private let client: ClientView
  private let filter: [String: String]
  private var stage: Stage

  var isTorn: Bool { if case .torn = stage { true } else { false } }

  /// What stands before the things is the caller's, and what is told no more since the position that it knew.
  init(
    of collection: Collection, since: Position?, for client: ClientView, where filter: [String: String] = [:],
    _ members: [JSON.Member] = []
  ) {
    self.collection = collection
    self.client = client
    self.filter = filter
    position = collection.position
    var members = members + [.init("position", .text(position.description)), .init("recovered", .bool(false))]
    if let missed = collection.missed(since: since) { members.append(.init("missed", .number(missed))) }
    if let oldest = collection.attic?.oldest?.id ?? collection.leftOut(for: client, where: filter) {
      members.append(.init("oldest", .text(oldest)))
    }
    stage = .opening(members: JSON.object(members).bytes)
  }

  /// The whole of it, as it is now.
  func pieces() -> Pieces {
    var all = Pieces()
    for piece in self { all.append(piece) }
    return all
  }

  mutating func next() -> Pieces? {
    switch stage {
    case .opening(let members):
      // The first things are of the same moment as what is said of all of them.
      let head = members.dropLast() + Array(",\"items\":[".utf8)
      stage = .closing
      let first = collection.latest(Self.itemsMax, bytes: Self.bytesMax, for: client, where: filter).first
      guard let first, let items = items(after: first.ordinal - 1, behind: Array(head)) else { return Pieces([head]) }
      return items
    case .items(let after):
      if collection.lastLeft > after {
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
    let items = page.items.prefix { $0.ordinal <= position.offset }
    stage = .closing
    guard let last = items.last else { return nil }
    if page.hasMore { stage = .items(after: last.ordinal) }
    return Pieces([text] + Item.separated(items))
  }
}

extension Collection {
  /// The first thing of all, where a snapshot has no room for it.
  fileprivate func leftOut(for client: ClientView, where filter: [String: String]) -> String? {
    guard count > Snapshot.itemsMax || bytes > Snapshot.bytesMax,
      let first = page(after: 0, atMost: 1, for: client, where: filter).items.first,
      let told = latest(Snapshot.itemsMax, bytes: Snapshot.bytesMax, for: client, where: filter).first
    else { return nil }
    return first.ordinal < told.ordinal ? first.id : nil
  }
}
