/// Items by their id, and in the order in which they came. Reading in order looks up no id.
struct OrderedItems {
  private struct Place {
    let ordinal: UInt64
    /// Nil once it is removed.
    var item: Item?
  }

  /// The places in order; those of removed items stay until they are half of all.
  private var places: [Place] = []
  /// The number of the first place among all that there ever were.
  private var firstNumber = 0
  /// The numbers of the items' places.
  private var numbers: [String: Int] = [:]
  private var gone = 0
  /// The index of the oldest item: a full collection removes that one each time.
  private var start = 0
  private(set) var bytes = 0

  var count: Int { numbers.count }
  subscript(id: String) -> Item? { numbers[id].flatMap { places[$0 - firstNumber].item } }
  var first: Item? { start < places.count ? places[start].item : nil }

  var all: some BidirectionalCollection<Item> { after(0) }

  func after(_ ordinal: UInt64) -> some BidirectionalCollection<Item> {
    var (low, high) = (start, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].ordinal > ordinal { high = middle } else { low = middle + 1 }
    }
    return places[low...].lazy.compactMap(\.item)
  }

  mutating func put(_ item: Item) {
    bytes += item.bytes.count
    if let number = numbers[item.id] {
      bytes -= places[number - firstNumber].item?.bytes.count ?? 0
      places[number - firstNumber].item = item
    } else {
      numbers[item.id] = firstNumber + places.count
      places.append(Place(ordinal: item.ordinal, item: item))
    }
  }

  mutating func remove(_ id: String) -> Item? {
    guard let number = numbers.removeValue(forKey: id) else { return nil }
    let item = places[number - firstNumber].item.take()
    bytes -= item?.bytes.count ?? 0
    gone += 1
    while start < places.count, places[start].item == nil { start += 1 }
    if gone > places.count / 2 { compact() }
    return item
  }

  private mutating func compact() {
    places.removeFirst(start)
    (firstNumber, gone, start) = (firstNumber + start, gone - start, 0)
    // Items that were removed before older ones still have places.
    guard gone > places.count / 2 else { return }
    places.removeAll { $0.item == nil }
    (firstNumber, gone) = (0, 0)
    for (index, place) in places.enumerated() { if let item = place.item { numbers[item.id] = index } }
  }
}
