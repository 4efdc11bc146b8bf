internal import Web

/// All channels: the collections that have a path, and the lists that the sessions of a crowd share.
final class Channels {
  /// The epoch of those that live as long as this process.
  private let epoch = Secrets.epoch()
  private var collections: [String: Collection] = [:]
  /// The number of event streams and long polls of each client that has some.
  private var followerCounts: [ClientID: Int] = [:]
  /// The lists that sessions of one ad hoc type share.
  private var crowds: [String: Crowd] = [:]
  private var lastNumber = 0
  let binaryForms = BinaryForms()
  private let meters: Meters
  private let viewer: (WebSocket) -> ClientView?
  private let onEnded: (Collection) -> Void

  init(
    _ meters: Meters, viewer: @escaping (WebSocket) -> ClientView?, onEnded: @escaping (Collection) -> Void
  ) {
    (self.meters, self.viewer, self.onEnded) = (meters, viewer, onEnded)
  }

  func collection(
    _ path: String, keeping count: Int = .max, bytes: Int = .max, ring: Int = 1 << 20, epoch: String? = nil
  ) -> Collection {
    var limits = Collection.Limits()
    limits.itemsMax = count
    limits.itemsBytesMax = bytes
    limits.ringBytesMax = ring
    return collection(path, limits, epoch: epoch)
  }

  /// A new number, of a collection or of a page that is followed.
  func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// A collection of items that are published once and not kept.
  func datagramCollection(_ path: String) -> Collection { collection(path, .datagrams, binaryForms) }

  func collection(
    _ path: String, _ limits: Collection.Limits, _ binaryForms: BinaryForms? = nil, epoch: String? = nil,
    onFollowed: @escaping () -> Void = {}
  ) -> Collection {
    return add(
      Collection(
        path: path, number: number(), epoch: epoch ?? self.epoch, limits: limits, binaryForms,
        onDropped: { [meters] in meters.dropped($0) },
        onFollowers: { [unowned self] in countFollowers(of: $0, $1) }, onFollowed: onFollowed,
        viewer: viewer))
  }

  /// A collection of items that others have as well.
  func collection(_ path: String, of items: SharedItems, as stored: SharedList.Stored? = nil) -> SharedList {
    return add(
      SharedList(
        path: path, number: number(), of: items, as: stored,
        onFollowers: { [unowned self] in countFollowers(of: $0, $1) }))
  }

  private func add<Kind: Collection>(_ collection: Kind) -> Kind {
    collections[collection.path] = collection
    return collection
  }

  private func countFollowers(of client: ClientID, _ change: Int) {
    let count = (followerCounts[client] ?? 0) + change
    followerCounts[client] = count > 0 ? count : nil
  }

  /// The crowd of an ad hoc type: a new one where there is none.
  func crowd(of type: String) -> Crowd {
    if let crowd = crowds[type] { return crowd }
    let crowd = Crowd(type, epoch: epoch, binaryForms)
    crowds[type] = crowd
    return crowd
  }

  func forget(_ crowd: Crowd) { crowds[crowd.type] = nil }

  func collection(at path: String) -> Collection? { collections[path] }

  func end(_ collection: Collection) {
    onEnded(collection)
    collection.end()
    collections[collection.path] = nil
  }

  /// Releases the followers of all collections.
  func release() {
    for collection in collections.values { collection.release() }
  }

  /// Ends all followers of a client.
  func endFollowers(of client: ClientID) {
    for collection in collections.values { collection.endFollowers(of: client) }
  }

  /// The number of event streams and long polls of a client.
  func followerCount(of client: ClientID) -> Int { followerCounts[client] ?? 0 }

  /// Whether it has an event stream or a long poll.
  func follows(_ client: ClientID) -> Bool { followerCounts[client] != nil }

  func count<Kind: Follower>(of kind: Kind.Type) -> Int {
    collections.values.reduce(0) { $0 + $1.count(of: kind) }
  }
}
