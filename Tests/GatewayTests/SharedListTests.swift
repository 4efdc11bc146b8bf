import Nearby
import PowerCut
import Testing

@testable import Gateway

/// Lists that share their items, held against collections that have all for themselves.
struct SharedListTests {
  private static let client = ClientView(id: ClientID(text: "anna"), name: "Anna", role: .member)

  /// A list, and a collection to which the same happens; and a reader that catches up now and then.
  private final class Pair {
    let list: SharedList
    let plain: Collection
    var reader: (position: Position, catchUp: CatchUp, has: [String: [UInt8]])?

    init(_ number: Int, _ items: SharedItems) {
      list = SharedList(path: "/\(number)", number: number, of: items)
      plain = Collection(path: "/\(number)", number: number, epoch: "abc", limits: items.limits, viewer: { _ in nil })
    }

    func check(inOrder: Bool) {
      #expect(list.offset == plain.offset)
      #expect(list.count == plain.count && list.bytes == plain.bytes)
      let (shown, expected) = (list.all, plain.all)
      if inOrder {
        #expect(shown.map(\.id) == expected.map(\.id))
      } else {
        #expect(Set(shown.map(\.id)) == Set(expected.map(\.id)))
      }
      #expect(shown.map(\.ordinal) == shown.map(\.ordinal).sorted())
      for item in expected { #expect(list[item.id]?.bytes == item.bytes) }
      var page = list.page(after: 0, atMost: 3, for: SharedListTests.client, where: [:])
      var paged = page.items
      while page.hasMore, let last = paged.last {
        page = list.page(after: last.ordinal, atMost: 3, for: SharedListTests.client, where: [:])
        paged += page.items
      }
      #expect(paged.map(\.id) == shown.map(\.id))
      for back in 0...min(plain.offset, 12) {
        let since = Position(epoch: "abc", offset: plain.offset - back)
        guard let changes = list.changes(after: since), let others = plain.changes(after: since) else { continue }
        #expect(changes.map(\.offset) == others.map(\.offset))
        #expect(changes.map(\.ids) == others.map(\.ids) && changes.map(\.bytes) == others.map(\.bytes))
        #expect(changes.map { $0.facetsBefore == nil } == others.map { $0.facetsBefore == nil })
      }
    }

    func beginReading() {
      list.catchUpBegan()
      let items = list.all
      reader = (
        list.position, CatchUp(knowing: items.map(\.id), upTo: list.lastOrdinal),
        Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0.bytes) })
      )
    }

    /// Takes a step; whether the reader has all.
    func read() -> Bool {
      guard var (position, catchUp, has) = reader else { return true }
      switch catchUp.next(after: position, of: list, for: SharedListTests.client, atMost: 24) {
      case .changes(let batch):
        for change in batch.changes {
          #expect(change.offset > position.offset)
          position.offset = change.offset
          for id in change.ids { has[id] = change.bytes }
        }
        #expect(batch.position.offset >= position.offset)
        reader = (batch.position, catchUp, has)
        return false
      case .done:
        #expect(position.offset == list.offset)
        #expect(has == Dictionary(uniqueKeysWithValues: list.all.map { ($0.id, $0.bytes) }))
        reader = nil
        list.catchUpEnded()
        return true
      case .stored, .lost:
        Issue.record("a reader that began with a snapshot has lost its way")
        return true
      }
    }
  }

  /// Random changes of lists that come and go.
  private static func run(_ seed: UInt64, _ limits: Collection.Limits, areMessages: Bool) {
    var random = Chance(seed)
    let items = SharedItems(epoch: "abc", limits)
    var (pairs, made): ([Pair], Int) = ([], 0)
    for step in 0..<400 {
      let choice = Int.random(in: 0..<100, using: &random)
      if pairs.count < 2 || choice < 5, pairs.count < 90 {
        made += 1
        pairs.append(Pair(made, items))
      } else if choice < 8, let index = pairs.indices.randomElement(using: &random) {
        let pair = pairs.remove(at: index)
        if pair.reader != nil { pair.list.catchUpEnded() }
        pair.list.end()
      } else if choice < 30, let pair = pairs.randomElement(using: &random) {
        // An item that a list has for itself.
        let old = pair.plain.all.first { $0.id.hasPrefix("own") }?.id
        let id = areMessages ? (choice % 2 == 0 ? old : nil) ?? "own \(step)" : "own \(choice % 4)"
        let bytes = Array("\(id) \(areMessages ? step : step % 3)".utf8)
        pair.list.put(id, written: bytes, owner: .gateway)
        pair.plain.put(id, written: bytes, owner: .gateway)
      } else if choice < 40, let pair = pairs.randomElement(using: &random),
        let item = pair.plain.all.randomElement(using: &random)
      {
        pair.list.remove(item.id)
        pair.plain.remove(item.id)
      } else if choice < 50, let pair = pairs.randomElement(using: &random), pair.reader == nil {
        pair.beginReading()
      } else {
        let some = pairs.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
        let id = areMessages ? "message \(step)" : "member \(Int.random(in: 0..<40, using: &random))"
        let bytes = Array("\(id) \(areMessages ? step : Int.random(in: 0..<3, using: &random))".utf8)
        var slots = NumberSet()
        for pair in some { slots.insert(pair.list.slot) }
        if slots.isEmpty { continue }
        items.put(id, SharedItems.Content(bytes: bytes, facets: [:]), in: slots)
        for pair in some { pair.plain.put(id, written: bytes, owner: .gateway) }
      }
      for pair in pairs where Int.random(in: 0..<8, using: &random) == 0 { _ = pair.read() }
      if step % 20 == 0 { for pair in pairs { pair.check(inOrder: areMessages) } }
    }
    for pair in pairs {
      pair.check(inOrder: areMessages)
      for _ in 0..<1_000 where pair.reader != nil { _ = pair.read() }
      #expect(pair.reader == nil)
      pair.list.end()
    }
    #expect(items.isEmpty)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `members that are shared are those that each list would have for itself`(seed: UInt64) {
    var limits = Collection.Limits()
    limits.changesMax = 4
    Self.run(seed, limits, areMessages: false)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `messages that are shared are kept as long as each list would keep them`(seed: UInt64) {
    var limits = Collection.Limits()
    (limits.changesMax, limits.itemsMax, limits.itemsBytesMax) = (10, 12, 150)
    Self.run(seed, limits, areMessages: true)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `messages that make room together are those that each list would remove`(seed: UInt64) {
    var limits = Collection.Limits()
    (limits.changesMax, limits.itemsMax) = (10, 33)
    Self.run(seed, limits, areMessages: true)
  }

  @Test func `a full list is rid of some items by one change, of the lists that have the same`() {
    var limits = Collection.Limits()
    limits.itemsMax = 160
    let items = SharedItems(epoch: "abc", limits)
    let (first, second) = (Pair(1, items), Pair(2, items))
    var both = NumberSet(first.list.slot)
    both.insert(second.list.slot)
    for number in 1...161 { items.put("m\(number)", SharedItems.Content(bytes: [0x30], facets: [:]), in: both) }
    for list in [first.list, second.list] {
      #expect(list.count == 150 && list.all.first?.id == "m12")
      let last = list.changes(after: Position(epoch: "abc", offset: 161))
      #expect(last?.map(\.ids) == [(1...11).map { "m\($0)" }])
    }
    #expect(items.number == 162)
    for number in 162...171 { items.put("m\(number)", SharedItems.Content(bytes: [0x30], facets: [:]), in: both) }
    #expect(first.list.count == 160 && items.number == 172)
  }

  @Test func `an item that no list has any more takes no memory, though its place is there`() {
    var limits = Collection.Limits()
    (limits.itemsMax, limits.changesMax) = (10, 1)
    let items = SharedItems(epoch: "abc", limits)
    let (first, second) = (Pair(1, items), Pair(2, items))
    var both = NumberSet(first.list.slot)
    both.insert(second.list.slot)
    items.put("m0", SharedItems.Content(bytes: [0x30], facets: [:]), in: both)
    weak let item = first.list["m0"]
    #expect(item != nil)
    for number in 1...20 { items.put("m\(number)", SharedItems.Content(bytes: [0x30], facets: [:]), in: both) }
    #expect(item == nil && first.list.all.first?.id == "m11")
  }

  @Test func `a list with the slot of an ended one does not show what that one had`() {
    let items = SharedItems(epoch: "abc", Collection.Limits())
    let (first, second) = (Pair(1, items), Pair(2, items))
    var both = NumberSet(first.list.slot)
    both.insert(second.list.slot)
    items.put("secret", SharedItems.Content(bytes: Array("{}".utf8), facets: [:]), in: both)
    let slot = first.list.slot
    first.list.end()
    let third = Pair(3, items)
    #expect(third.list.slot == slot && third.list.all.isEmpty && third.list["secret"] == nil)
    items.put("hello", SharedItems.Content(bytes: Array("[]".utf8), facets: [:]), in: both)
    #expect(third.list.changes(after: Position(epoch: "abc", offset: 0))?.map(\.id) == ["hello"])
    #expect(second.list.all.map(\.id) == ["secret", "hello"])
  }
}
