internal import Testing

@testable internal import Gateway

struct OrderedItemsTests {
  @Test(arguments: [0, 1, 2]) func `items are found by their id and in order, whichever were removed`(_ kind: Int) {
    var items = OrderedItems()
    var expected: [(id: String, ordinal: UInt64, size: Int)] = []
    var ordinal: UInt64 = 0
    func item(_ id: String, _ ordinal: UInt64, _ size: Int) -> Item {
      Item(
        id: id, ordinal: ordinal, owner: .gateway, facets: [:], bytes: [UInt8](repeating: 1, count: size),
        position: Position(epoch: "abc", offset: ordinal))
    }
    for round in 0..<2_000 {
      let id = "m\(round * 7 % 300)"
      if let index = expected.firstIndex(where: { $0.id == id }) {
        if round % 3 == 0 {
          items.put(item(id, expected[index].ordinal, round))
          expected[index].size = round
        } else {
          #expect(items.remove(id)?.ordinal == expected[index].ordinal)
          expected.remove(at: index)
        }
      } else {
        ordinal += 1
        items.put(item(id, ordinal, round))
        expected.append((id, ordinal, round))
      }
      // Items are removed at the beginning, as a full history does it, or at the end, or not.
      if expected.count > 100, kind < 2 {
        let gone = kind == 0 ? expected.removeFirst() : expected.removeLast()
        #expect(items.remove(gone.id)?.id == gone.id && items[gone.id] == nil)
      }
      #expect(items.count == expected.count && items.bytes == expected.reduce(0) { $0 + $1.size })
      #expect(items.first?.id == expected.first?.id)
    }
    #expect(items.all.map(\.ordinal) == expected.map(\.ordinal) && items.all.map(\.bytes.count) == expected.map(\.size))
    #expect(items.all.reversed().map(\.id) == expected.reversed().map(\.id))
    for (id, ordinal, _) in expected {
      #expect(items[id]?.ordinal == ordinal)
      #expect(items.after(ordinal).map(\.id) == expected.filter { $0.ordinal > ordinal }.map(\.id))
    }
    #expect(items.remove("none") == nil)
  }
}
