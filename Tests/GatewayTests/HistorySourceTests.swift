internal import Testing

@testable internal import Gateway

@Suite("What a channel does not hold itself")
struct HistorySourceTests {
  /// Has all things, of which the channel holds the last ones only.
  private final class StoredItems: HistorySource {
    let items: [Item]

    init(_ items: [Item]) { self.items = items }

    var oldest: (ordinal: UInt64, id: String)? { items.first.map { ($0.ordinal, $0.id) } }

    func page(
      after ordinal: UInt64, atMost count: Int, where filter: [String: String]
    ) async throws -> (items: [Item], hasMore: Bool) {
      let behind = items.filter { $0.ordinal > ordinal }
      return (Array(behind.prefix(count)), behind.count > count)
    }

    func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)? {
      nil
    }
    func item(_ id: String) async throws -> Item? { items.first { $0.id == id } }
  }

  private func item(_ ordinal: UInt64, changed: UInt64? = nil) -> Item {
    Item(
      id: "m\(ordinal)", ordinal: ordinal, owner: .gateway, facets: [:], bytes: [],
      position: Position(epoch: "abc", offset: changed ?? ordinal))
  }

  @Test("a page goes on past what has changed and is not told yet, and ends before what is new and not told")
  func page() async throws {
    let cellar = StoredItems([item(1), item(2, changed: 7), item(3), item(4), item(5), item(6)])
    let collection = Collection(path: "/", number: 1, epoch: "abc", viewer: { _ in nil })
    collection.begin(with: [item(4), item(5)], at: 5, historySource: cellar)
    let listing = Listing()
    #expect(collection.needsHistory(listing))
    guard case .page(let items, let hasMore)? = try await collection.readHistory(listing) else {
      Issue.record("no page came")
      return
    }
    #expect(items.map(\.ordinal) == [1, 2, 3, 4, 5] && !hasMore)
  }
}
