/// The latest changes of one list of `SharedItems` alone. New items that come one right after the other, as those that a
/// newcomer finds, take a word each.
struct OwnChanges {
  typealias Numbered = (number: UInt64, change: SharedItems.ItemChange)

  /// New items, whose changes have the numbers from this one on.
  private struct Run {
    var first: UInt64 = 0
    var items: ArraySlice<Item> = []

    var end: UInt64 { first + UInt64(items.count) }
  }

  private enum Entry {
    case change(Numbered)
    case run(Run)
  }

  private var entries: ArraySlice<Entry> = []
  /// The new items behind all entries.
  private var lastRun = Run()
  private(set) var count = 0

  mutating func append(_ number: UInt64, _ change: SharedItems.ItemChange) {
    count += 1
    if number != lastRun.end || change.before != nil || change.item == nil { endRun() }
    guard let item = change.item, change.before == nil else { return entries.append(.change((number, change))) }
    if lastRun.items.isEmpty { lastRun.first = number }
    lastRun.items.append(item)
  }

  private mutating func endRun() {
    if let only = lastRun.items.first, lastRun.items.count == 1 {
      entries.append(.change((lastRun.first, SharedItems.ItemChange(item: only, before: nil))))
      lastRun.items.removeAll(keepingCapacity: true)
    } else if !lastRun.items.isEmpty {
      entries.append(.run(lastRun))
      lastRun = Run()
    }
  }

  /// Removes the oldest one, and returns its number.
  mutating func removeFirst() -> UInt64? {
    if count == 0 { return nil }
    if entries.isEmpty { endRun() }
    count -= 1
    guard case .run(var run)? = entries.first, run.items.count > 1 else {
      switch entries.removeFirst() {
      case .change((let number, _)): return number
      case .run(let run): return run.first
      }
    }
    run.items.removeFirst()
    run.first += 1
    entries[entries.startIndex] = .run(run)
    return run.first - 1
  }

  /// Latest first.
  var latest: some IteratorProtocol<Numbered> {
    var (entries, run) = (entries, lastRun)
    return AnyIterator {
      if run.items.isEmpty {
        switch entries.popLast() {
        case nil: return nil
        case .change(let change)?: return change
        case .run(let last)?: run = last
        }
      }
      return run.items.popLast().map { (run.end, SharedItems.ItemChange(item: $0, before: nil)) }
    }
  }
}
