internal import Notation

/// A page of a list that a WebSocket follows. In each round that finds the list changed, it is read anew and compared with
/// what its reader has.
///
/// It costs what the page holds, however many items the list has and however often they change. It has no queue, and its
/// reader never lags: one that was slow gets the difference to the present.
final class LivePage {
  /// Limit for the bytes of its items, but for the first.
  static let bytesMax = ResponseBudget.smallBytesMax

  let collection: Collection
  /// The number by which its changes are told.
  let number: Int
  private let listing: Listing
  private let view: ClientView
  private weak var reader: SocketClient?
  /// The index among all pages that are followed.
  var place = 0
  /// Whether it waits for its client to read more.
  var isWaiting = false
  /// The offset of the list at which it was read.
  private var offset: UInt64 = 0
  private(set) var items: [Item] = []
  /// The members of its JSON behind the items: the counts of the list, and the cursor of the next page.
  private(set) var end: [UInt8] = []

  init(
    _ collection: Collection, _ listing: Listing, _ number: Int, for view: ClientView, of reader: SocketClient? = nil
  ) {
    (self.collection, self.listing, self.number) = (collection, listing, number)
    (self.view, self.reader) = (view, reader)
    read()
  }

  private func read() {
    offset = collection.offset
    let (items, hasMore) = collection.page(
      after: listing.after, atMost: listing.limit, bytes: Self.bytesMax, for: view, where: listing.filter)
    self.items = items
    let counts: [JSON.Member] = [.init("all", .number(collection.count(seenBy: view)))] + collection.partCounts()
    end = Array(",\"counts\":".utf8) + JSON.object(counts).bytes
    if hasMore, let last = items.last { end += ",\"next\":\"\(Listing.cursor(last.ordinal))\"".utf8 }
  }

  func changed() { reader?.tell(self) }

  /// The frame of what is different since the page was last read; nil where nothing is.
  func difference() -> [UInt8]? {
    if offset == collection.offset { return nil }
    let (before, endBefore) = (items, end)
    read()
    var (put, gone): ([Item], [String]) = ([], [])
    if !items.elementsEqual(before, by: { $0 === $1 }) {
      let known = Dictionary(before.lazy.map { ($0.id, $0) }) { $1 }
      let left = Set(items.lazy.map(\.id))
      put = items.filter { known[$0.id]?.bytes != $0.bytes }
      gone = before.map(\.id).filter { !left.contains($0) }
    }
    if put.isEmpty, gone.isEmpty, end == endBefore { return nil }
    var frame = Array("{\"n\":\(number),\"o\":\(offset),\"page\":{\"del\":".utf8)
    frame += JSON.list(gone.map(JSON.text)).bytes
    frame += ",\"put\":[".utf8
    for piece in Item.separated(put) { frame += piece }
    frame.append(UInt8(ascii: "]"))
    frame += end
    frame += "}}".utf8
    return frame
  }
}

extension Collection {
  /// Whether it can be followed by pages: the first page of a list that drops its oldest items changes with each new one.
  var isFollowedByPages: Bool { limits.itemsMax == .max && historySource == nil }
}
