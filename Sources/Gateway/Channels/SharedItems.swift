internal import Notation
internal import Web

/// The items of lists that mostly have the same: each is kept once, with the set of lists that it is in, and a change
/// is one, however many lists have it.
///
/// Invariants:
/// - A list's changes are numbered for it alone, without a gap; all changes of all lists have an order, by which items
///   have their ordinals and positions here.
/// - A place has an item for each state in which lists see it, and a list has one of these at most. New places are at
///   the end. An item that a list puts for itself has a place of its own.
final class SharedItems {
  /// An item, and the lists that it is in.
  private struct Version {
    var item: Item
    var lists: ListSet
  }

  private struct Place {
    let key: Key
    let ordinal: UInt64
    var first: Version
    /// Nearly always empty.
    var others: [Version] = []

    var isEmpty: Bool { first.lists.isEmpty && others.isEmpty }

    func item(in list: Int) -> Item? {
      if first.lists.contains(list) { return first.item }
      return others.isEmpty ? nil : others.first { $0.lists.contains(list) }?.item
    }

    /// Takes the lists out of the items that they have here, and returns these, each with its lists.
    mutating func take(_ lists: ListSet) -> [(item: Item, lists: ListSet)] {
      var taken: [(item: Item, lists: ListSet)] = []
      func take(from version: inout Version) {
        let found = version.lists.intersection(lists)
        if found.isEmpty { return }
        taken.append((version.item, found))
        version.lists.subtract(found)
      }
      take(from: &first)
      for index in others.indices { take(from: &others[index]) }
      if !others.isEmpty { others.removeAll { $0.lists.isEmpty } }
      if first.lists.isEmpty, let other = others.popLast() { first = other }
      return taken
    }

    mutating func add(_ item: Item, in lists: ListSet) {
      if first.item === item {
        first.lists.formUnion(lists)
      } else if first.lists.isEmpty {
        first = Version(item: item, lists: lists)
      } else if let index = others.firstIndex(where: { $0.item === item }) {
        others[index].lists.formUnion(lists)
      } else {
        others.append(Version(item: item, lists: lists))
      }
    }

    /// An item here with this content, and the lists that have one.
    func same(_ bytes: [UInt8], _ member: MemberModel?) -> (item: Item, lists: ListSet)? {
      var same: (item: Item, lists: ListSet)?
      func see(_ version: Version) {
        guard !version.lists.isEmpty, version.item.member === member, version.item.bytes == bytes else { return }
        if same == nil { same = (version.item, version.lists) } else { same?.lists.formUnion(version.lists) }
      }
      see(first)
      others.forEach(see)
      return same
    }
  }

  /// The ID of a place; one that a list has for itself is that list's.
  private struct Key: Hashable {
    let id: String
    var list = -1
  }

  /// A change, and the lists that have it.
  struct SharedChange {
    let number: UInt64
    let lists: ListSet
    let change: ItemChange
  }

  /// An item that was put, or that was removed, and the one before.
  struct ItemChange {
    let item: Item?
    let before: Item?

    /// As a list numbers it.
    func change(_ offset: UInt64) -> Change {
      Change(
        offset: offset, owner: (item ?? before)?.owner ?? .operators, id: (item ?? before)?.id ?? "",
        bytes: item?.bytes, facets: item?.facets, facetsBefore: before?.facets)
    }

    var byteCount: Int { item?.bytes.count ?? 0 }

    /// Publishes what follows the number in each list's frame.
    func publish(in ring: Fanout, to recipients: Fanout.Recipients? = nil) {
      if let item, item.bytes.count > Collection.sharedBytesMin {
        return ring.publish(
          Pieces([Array(",\"put\":".utf8), item.bytes, [UInt8(ascii: "}")]]), .text, to: recipients)
      }
      var json: [UInt8] = []
      json.reserveCapacity(byteCount + Self.frameBytes)
      if let item {
        json += ",\"put\":".utf8
        json += item.bytes
      } else {
        json += ",\"del\":".utf8
        JSON.write(before?.id ?? "", to: &json)
      }
      json.append(UInt8(ascii: "}"))
      json.withUnsafeBytes { ring.publish($0, .text, to: recipients) }
    }

    private static let frameBytes = 64
  }

  /// How many times the changes of one list are kept for all together: several groups may share the items.
  private static let changesFactor = 4

  let epoch: String
  let limits: Collection.Limits
  /// The number of the last change of all.
  private(set) var number: UInt64 = 0
  private var places: [Place] = []
  /// The number of the first place among all that there ever were.
  private var firstPlace = 0
  private var numbers: [Key: Int] = [:]
  private var emptyCount = 0
  private var lists: [SharedList?] = []
  private var freeSlots: [Int] = []
  private var changes: ArraySlice<SharedChange> = []
  private var changesBytes = 0
  /// The number up to which changes of several lists are no longer kept.
  private(set) var forgottenNumber: UInt64 = 0
  /// The ring of changes of several lists.
  private(set) lazy var ring = makeRing()
  /// The subscribers of some lists, cached: the next change is mostly for the same.
  private var listeners: (of: ListSet, who: Fanout.Listeners)?
  /// Lists that have followers.
  private var followed = ListSet()
  private var catchUpCount = 0

  init(epoch: String, _ limits: Collection.Limits) {
    (self.epoch, self.limits) = (epoch, limits)
  }

  var isEmpty: Bool { freeSlots.count == lists.count }

  // MARK: Lists

  func add(_ list: SharedList) -> Int {
    let slot = freeSlots.popLast() ?? lists.count
    if slot == lists.count { lists.append(list) } else { lists[slot] = list }
    return slot
  }

  func remove(_ list: SharedList) {
    let slot = ListSet(list.slot)
    for index in places.indices where !places[index].take(slot).isEmpty { forget(index + firstPlace) }
    followed.subtract(slot)
    lists[list.slot] = nil
    freeSlots.append(list.slot)
    compact()
  }

  func setFollowed(_ isFollowed: Bool, _ slot: Int) {
    if isFollowed { followed.insert(slot) } else { followed.remove(slot) }
  }

  func catchUpBegan() { catchUpCount += 1 }
  func catchUpEnded() { catchUpCount -= 1 }
  var keepsLonger: Bool { catchUpCount > 0 }

  func makeRing() -> Fanout { Fanout(bytesMax: limits.ringBytesMax, isNumbered: true) }

  // MARK: Reading

  /// The item of this ID that the list has, with a place of its own or with others.
  func item(_ id: String, in list: Int) -> Item? {
    item(Key(id: id, list: list), list) ?? item(Key(id: id), list)
  }

  private func item(_ key: Key, _ list: Int) -> Item? {
    numbers[key].flatMap { places[$0 - firstPlace].item(in: list) }
  }

  /// The items of this ID that these lists have, each with its lists, and nil with those that have none.
  func items(_ id: String, in lists: ListSet) -> [(item: Item?, lists: ListSet)] {
    var (found, left): ([(item: Item?, lists: ListSet)], ListSet) = ([], lists)
    if let number = numbers[Key(id: id)] {
      var place = places[number - firstPlace]
      for (item, lists) in place.take(lists) {
        found.append((item, lists))
        left.subtract(lists)
      }
    }
    if !left.isEmpty { found.append((nil, left)) }
    return found
  }

  /// The items of a list after an ordinal, in order.
  func items(after ordinal: UInt64, in list: Int) -> some BidirectionalCollection<Item> {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].ordinal > ordinal { high = middle } else { low = middle + 1 }
    }
    return places[low...].lazy.compactMap { $0.item(in: list) }
  }

  // MARK: Changes

  /// Puts an item for these lists together.
  func put(
    _ id: String, written bytes: [UInt8], facets: [String: String], of member: MemberModel? = nil, in lists: ListSet
  ) {
    put(Key(id: id), bytes, facets, member, lists)
  }

  /// Puts an item for one list alone; where it has one together with others, its own of that.
  func put(
    _ id: String, written bytes: [UInt8], facets: [String: String], of member: MemberModel?, inOwn list: Int
  ) {
    let shared = Key(id: id)
    let isShared = member != nil || item(shared, list) != nil
    put(isShared ? shared : Key(id: id, list: list), bytes, facets, member, ListSet(list))
  }

  private func put(
    _ key: Key, _ bytes: [UInt8], _ facets: [String: String], _ member: MemberModel?, _ lists: ListSet
  ) {
    let place = numbers[key]
    let same = place.flatMap { places[$0 - firstPlace].same(bytes, member) }
    var left = lists
    if let same { left.subtract(same.lists) }
    if left.isEmpty { return }
    let before = place.map { places[$0 - firstPlace].take(left) } ?? []
    var made = same?.item
    func put(_ lists: ListSet, before: Item?) {
      // While a reader catches up, an item's position is that of its change, for each of its lists.
      let item =
        (catchUpCount > 0 ? nil : made)
        // A member has more than its JSON says.
        ?? (before?.bytes == bytes ? before?.showing(member) : nil)
        ?? Item(
          id: key.id, ordinal: place.map { places[$0 - firstPlace].ordinal } ?? number + 1, owner: .gateway,
          facets: facets, bytes: bytes, position: Position(epoch: epoch, offset: number + 1), of: member)
      made = item
      if let place {
        places[place - firstPlace].add(item, in: lists)
      } else {
        numbers[key] = firstPlace + places.count
        places.append(Place(key: key, ordinal: item.ordinal, first: Version(item: item, lists: lists)))
      }
      account(bytes.count - (before?.bytes.count ?? 0), before == nil ? 1 : 0, lists)
      if before?.bytes != bytes { publish(ItemChange(item: item, before: before), lists) }
    }
    var new = left
    for (item, lists) in before {
      new.subtract(lists)
      put(lists, before: item)
    }
    if !new.isEmpty { put(new, before: nil) }
    makeRoom(in: left, for: numbers[key])
  }

  func remove(_ id: String, from list: Int) {
    for key in [Key(id: id, list: list), Key(id: id)] {
      if let number = numbers[key], remove(ListSet(list), at: number) { break }
    }
    compact()
  }

  /// Takes lists out of a place; whether any was there.
  @discardableResult
  private func remove(_ lists: ListSet, at number: Int) -> Bool {
    let removed = places[number - firstPlace].take(lists)
    for (item, lists) in removed {
      account(-item.bytes.count, -1, lists)
      publish(ItemChange(item: nil, before: item), lists)
    }
    forget(number)
    return !removed.isEmpty
  }

  private func account(_ bytes: Int, _ count: Int, _ slots: ListSet) {
    slots.forEach { lists[$0]?.account(bytes, count) }
  }

  /// Removes the oldest items of lists that have too many, each from all such lists at once; a list whose oldest item is
  /// that at this place keeps it.
  private func makeRoom(in slots: ListSet, for place: Int?) {
    if limits.itemsMax == .max, limits.itemsBytesMax == .max { return }
    while true {
      var oldest: [Int: ListSet] = [:]
      slots.forEach { slot in
        guard let list = lists[slot], list.isFull, let number = oldestPlace(of: list), number != place else { return }
        oldest[number, default: ListSet()].insert(slot)
      }
      if oldest.isEmpty { return compact() }
      for (number, lists) in oldest.sorted(by: { $0.key < $1.key }) { remove(lists, at: number) }
    }
  }

  private func oldestPlace(of list: SharedList) -> Int? {
    var number = max(list.oldestPlace, firstPlace)
    while number < firstPlace + places.count, places[number - firstPlace].item(in: list.slot) == nil { number += 1 }
    list.oldestPlace = number
    return number < firstPlace + places.count ? number : nil
  }

  /// Forgets the ID of a place that no list has an item at.
  private func forget(_ number: Int) {
    guard places[number - firstPlace].isEmpty else { return }
    emptyCount += 1
    numbers[places[number - firstPlace].key] = nil
  }

  private func compact() {
    guard emptyCount > 64, emptyCount > places.count / 2 else { return }
    let oldCount = places.prefix { $0.isEmpty }.count
    places.removeFirst(oldCount)
    (firstPlace, emptyCount) = (firstPlace + oldCount, emptyCount - oldCount)
    guard emptyCount > places.count / 2 else { return }
    places.removeAll { $0.isEmpty }
    (firstPlace, emptyCount) = (0, 0)
    for (index, place) in places.enumerated() { numbers[place.key] = index }
    for list in lists { list?.oldestPlace = 0 }
  }

  // MARK: Publishing

  private func publish(_ change: ItemChange, _ slots: ListSet) {
    number += 1
    if let only = slots.only {
      lists[only]?.publishOwn(change, number)
      return
    }
    slots.forEach { lists[$0]?.advance(by: change) }
    changes.append(SharedChange(number: number, lists: slots, change: change))
    changesBytes += change.byteCount
    let factor = Self.changesFactor * (keepsLonger ? 2 : 1)
    while changes.count > factor * limits.changesMax || changesBytes > factor * limits.changesBytesMax,
      changes.count > 1
    {
      let oldest = changes.removeFirst()
      forgottenNumber = oldest.number
      changesBytes -= oldest.change.byteCount
    }
    if ring.subscriberCount > 0 {
      if listeners?.of != slots { listeners = (slots, Fanout.Listeners(viewers: slots.contains)) }
      change.publish(in: ring, to: listeners.map { Fanout.Recipients($0.who, otherwise: nil) })
    }
    if followed.isEmpty { return }
    followed.intersection(slots).forEach { lists[$0]?.notifyFollowers() }
  }

  /// The changes of several lists, latest first.
  var latestChanges: some Sequence<SharedChange> { changes.reversed() }
}
