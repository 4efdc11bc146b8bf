internal import Nearby
internal import Web

/// The items of lists that mostly have the same: each is kept once, with the set of lists that it is in, and a change
/// is one, however many lists have it.
///
/// Invariants:
/// - A list's changes are numbered for it alone, without a gap; all changes of all lists have an order, by which items
///   have their ordinals and positions here.
/// - A place has an item for each state in which lists see it, and a list has one of these at most. New places are at
///   the end. An item that a list puts for itself has a place of its own.
/// - Where they are stored, each change has the number here that it has in its log.
final class SharedItems {
  /// An item, and the lists that it is in.
  private struct Version {
    var item: Item
    var lists: NumberSet
  }

  private struct Place {
    /// The list that has the place for itself.
    let list: Int
    let ordinal: UInt64
    /// Nil where no list has an item here any more.
    var first: Version?
    /// Nearly always empty.
    var others: [Version] = []

    init(_ key: Key, _ ordinal: UInt64, _ item: Item, in lists: NumberSet) {
      (list, self.ordinal, first) = (key.list, ordinal, Version(item: item, lists: lists))
    }

    var isEmpty: Bool { first == nil }
    var key: Key? { first.map { Key(id: $0.item.id, list: list) } }

    func item(in list: Int) -> Item? {
      if let first, first.lists.contains(list) { return first.item }
      return others.isEmpty ? nil : others.first { $0.lists.contains(list) }?.item
    }

    /// An item with this content.
    func item(_ content: Content) -> Item? {
      if let first, first.item.has(content) { return first.item }
      return others.isEmpty ? nil : others.first { $0.item.has(content) }?.item
    }

    /// Takes lists out of an item that they have here.
    mutating func take(_ lists: NumberSet, from item: Item) {
      if first?.item === item {
        first?.lists.subtract(lists)
        if first?.lists.isEmpty == true { first = others.popLast() }
      } else if let index = others.firstIndex(where: { $0.item === item }) {
        others[index].lists.subtract(lists)
        if others[index].lists.isEmpty { others.remove(at: index) }
      }
    }

    mutating func add(_ item: Item, in lists: NumberSet) {
      if first?.item === item {
        first?.lists.formUnion(lists)
      } else if first == nil {
        first = Version(item: item, lists: lists)
      } else if let index = others.firstIndex(where: { $0.item === item }) {
        others[index].lists.formUnion(lists)
      } else {
        others.append(Version(item: item, lists: lists))
      }
    }
  }

  /// The ID of a place; one that a list has for itself is that list's.
  private struct Key: Hashable {
    let id: String
    var list = -1
  }

  /// How many times the changes of one list are kept for all together: several groups may share the items.
  private static let changesFactor = 4

  let epoch: String
  let limits: Collection.Limits
  var binaryForms: BinaryForms?
  /// Whether they are stored: retention removes items without a change, and a list that ends may come back.
  let isDurable: Bool
  /// Called with the ordinal of a place at which no list has an item any more, where they are stored.
  var onEmptied: (UInt64) -> Void = { _ in }
  /// The number of the last change of all.
  private(set) var number: UInt64 = 0
  private var places: [Place] = []
  /// The number of the first place among all that there ever were.
  private var firstPlace = 0
  private var numbers: [Key: Int] = [:]
  private var emptyCount = 0
  private var lists: [SharedList?] = []
  /// How many items stored slots without a list have, and how many bytes.
  private var unlisted: [Int: (count: Int, bytes: Int)] = [:]
  private var freeSlots: [Int] = []
  private var changes: ArraySlice<SharedChange> = []
  private var changesBytes = 0
  /// The number up to which changes of several lists are no longer kept.
  private(set) var forgottenNumber: UInt64 = 0
  /// The rings of changes of several lists.
  private(set) var rings = ChannelRings()
  /// The subscribers of some lists, cached: the next change is mostly for the same.
  private var listeners: (of: NumberSet, who: Fanout.Listeners)?
  /// Lists that have followers.
  private var followed = NumberSet()
  private var catchUpCount = 0
  /// The rounds of the pages of lists that are followed.
  var pageRounds: PageRounds?

  init(epoch: String, _ limits: Collection.Limits, _ binaryForms: BinaryForms? = nil, isDurable: Bool = false) {
    (self.epoch, self.limits, self.binaryForms, self.isDurable) = (epoch, limits, binaryForms, isDurable)
  }

  var isEmpty: Bool { freeSlots.count == lists.count }

  // MARK: Lists

  func add(_ list: SharedList) -> Int {
    let slot = freeSlots.popLast() ?? lists.count
    if slot == lists.count { lists.append(list) } else { lists[slot] = list }
    return slot
  }

  func remove(_ list: SharedList) { release(list.slot) }

  /// Removes the items of a slot, with or without a list.
  func release(_ slot: Int) {
    let lists = NumberSet(slot)
    for index in places.indices {
      guard let item = places[index].item(in: slot) else { continue }
      places[index].take(lists, from: item)
      forget(index + firstPlace, item.id)
    }
    followed.subtract(lists)
    self.lists[slot] = nil
    unlisted[slot] = nil
    freeSlots.append(slot)
    compact()
  }

  /// A slot whose list comes later.
  func reserveSlot() -> Int {
    let slot = freeSlots.popLast() ?? lists.count
    if slot == lists.count { lists.append(nil) }
    unlisted[slot] = (0, 0)
    return slot
  }

  /// Gives a slot its list, which has the items that are there by now.
  func attach(_ list: SharedList, at slot: Int) {
    if let (count, bytes) = unlisted.removeValue(forKey: slot) { list.account(bytes, count) }
    lists[slot] = list
    makeRoom(in: NumberSet(slot), for: -1)
  }

  /// The list has ended, and the slot keeps its items.
  func detach(_ list: SharedList) {
    guard lists[list.slot] === list else { return }
    unlisted[list.slot] = (list.count, list.bytes)
    followed.subtract(NumberSet(list.slot))
    lists[list.slot] = nil
  }

  func setFollowed(_ isFollowed: Bool, _ slot: Int) {
    if isFollowed { followed.insert(slot) } else { followed.remove(slot) }
  }

  func catchUpBegan() { catchUpCount += 1 }
  func catchUpEnded() { catchUpCount -= 1 }
  var keepsLonger: Bool { catchUpCount > 0 }

  /// The ring of changes of several lists for WebSockets of this kind.
  func ring(_ kind: MessageKind) -> Fanout {
    rings.ring(kind, Fanout(bytesMax: limits.ringBytesMax, isNumbered: true, isPaced: limits.isPaced))
  }

  /// A ring of one list.
  func makeRing() -> Fanout { Fanout(bytesMax: limits.ringBytesMax, isNumbered: true) }

  // MARK: Reading

  /// The item of this ID that the list has, with a place of its own or with others.
  func item(_ id: String, in list: Int) -> Item? {
    item(Key(id: id, list: list), list) ?? item(Key(id: id), list)
  }

  private func item(_ key: Key, _ list: Int) -> Item? {
    numbers[key].flatMap { places[$0 - firstPlace].item(in: list) }
  }

  /// The items that these lists have at a place, each with its lists, and nil with those that have none.
  private func items(at number: Int, in lists: NumberSet) -> [(item: Item?, lists: NumberSet)] {
    var (found, left): ([(item: Item?, lists: NumberSet)], NumberSet) = ([], lists)
    func see(_ version: Version) {
      let common = version.lists.intersection(left)
      if common.isEmpty { return }
      found.append((version.item, common))
      left.subtract(common)
    }
    // A copy of the place would retain all that it has.
    if let first = places[number - firstPlace].first { see(first) }
    for index in places[number - firstPlace].others.indices { see(places[number - firstPlace].others[index]) }
    if !left.isEmpty { found.append((nil, left)) }
    return found
  }

  /// The items of a list after an ordinal, in order.
  func items(after ordinal: UInt64, in list: Int) -> some BidirectionalCollection<Item> {
    // A list that has just begun has none of all these.
    var (low, end) = (lists[list]?.count == 0 ? places.count : 0, places.count)
    while low < end {
      let middle = (low + end) / 2
      if places[middle].ordinal > ordinal { end = middle } else { low = middle + 1 }
    }
    // By index, as a copy of a place would retain all that it has. Nobody changes the places meanwhile.
    return (low..<places.count).lazy.compactMap { self.places[$0].item(in: list) }
  }

  /// The oldest item of a list.
  func first(in list: Int) -> Item? {
    guard let attached = lists[list] else { return places.lazy.compactMap { $0.item(in: list) }.first }
    return oldestPlace(of: attached).flatMap { places[$0 - firstPlace].item(in: list) }
  }

  /// The item of a list at an ordinal.
  func item(at ordinal: UInt64, in list: Int) -> Item? {
    var (low, end) = (0, places.count)
    while low < end {
      let middle = (low + end) / 2
      if places[middle].ordinal >= ordinal { end = middle } else { low = middle + 1 }
    }
    return low < places.count && places[low].ordinal == ordinal ? places[low].item(in: list) : nil
  }

  // MARK: Stored items

  /// Adds an item from before this start, in the order of ordinals: one of several lists, or a list's own.
  func restore(_ item: Item, in lists: NumberSet, inOwn list: Int = -1) {
    let key = Key(id: item.id, list: list)
    numbers[key] = firstPlace + places.count
    places.append(Place(key, item.ordinal, item, in: lists))
    account(item.bytes.count, 1, lists)
  }

  /// Begins with the number of the last change that is stored.
  func begin(at number: UInt64) { (self.number, forgottenNumber) = (number, number) }

  /// Publishes a change of a list's own item that has left it.
  func announce(_ item: Item, inOwn list: Int) { publish(ItemChange(item: item, before: item), NumberSet(list)) }

  /// Takes items out of lists without a change.
  private func evict(_ lists: NumberSet, at number: Int, hidingChanges: Bool = false) {
    for (item, lists) in items(at: number, in: lists) {
      guard let item else { continue }
      places[number - firstPlace].take(lists, from: item)
      account(-item.bytes.count, -1, lists)
      lists.forEach { slot in
        guard let list = self.lists[slot] else { return }
        list.noteEviction(of: item.ordinal)
        if hidingChanges { list.forgetChanges(throughNumber: item.position.offset) }
      }
      forget(number, item.id)
    }
  }

  /// Removes all items up to an ordinal, and what changes tell of them.
  func expire(through ordinal: UInt64) {
    for index in places.indices {
      if places[index].ordinal > ordinal { break }
      var lists = places[index].first?.lists ?? NumberSet()
      for version in places[index].others { lists.formUnion(version.lists) }
      if !lists.isEmpty { evict(lists, at: index + firstPlace, hidingChanges: true) }
    }
    compact()
  }

  // MARK: Changes

  /// Puts an item for these lists together.
  func put(_ id: String, _ content: Content, in lists: NumberSet) { update(Key(id: id), in: lists) { _ in content } }

  /// Puts an item for one list alone; where it has one together with others, its own of that.
  func put(_ id: String, _ content: Content, inOwn list: Int) {
    let shared = Key(id: id)
    let isShared = content.member != nil || item(shared, list) != nil
    update(isShared ? shared : Key(id: id, list: list), in: NumberSet(list)) { _ in content }
  }

  /// An item that some lists have now, and the one before.
  typealias Replacement = (before: Item?, item: Item, lists: NumberSet)

  /// Changes the item of this ID for these lists: `change` is called for each item that some of them have, with nil for
  /// those that have none, and returns what they are to have, or nil where that stays.
  func update(_ id: String, in lists: NumberSet, _ change: (Item?) -> Content?) -> [Replacement] {
    update(Key(id: id), in: lists, change)
  }

  @discardableResult
  private func update(_ key: Key, in lists: NumberSet, _ change: (Item?) -> Content?) -> [Replacement] {
    var number = numbers[key]
    var replaced: [Replacement] = []
    func replace(_ before: Item?, in lists: NumberSet) {
      guard let content = change(before), before?.has(content) != true else { return }
      let item = item(content, key, at: number, before)
      if let number {
        if let before { places[number - firstPlace].take(lists, from: before) }
        places[number - firstPlace].add(item, in: lists)
      } else {
        number = firstPlace + places.count
        numbers[key] = number
        places.append(Place(key, item.ordinal, item, in: lists))
      }
      account(item.bytes.count - (before?.bytes.count ?? 0), before == nil ? 1 : 0, lists)
      if before?.bytes != item.bytes { publish(ItemChange(item: item, before: before), lists) }
      replaced.append((before, item, lists))
    }
    switch (number, lists.only) {
    // A newcomer finds many.
    case (let number?, let list?): replace(places[number - firstPlace].item(in: list), in: lists)
    case (let number?, nil): for (before, lists) in items(at: number, in: lists) { replace(before, in: lists) }
    case (nil, _): replace(nil, in: lists)
    }
    if let number { makeRoom(in: lists, for: number) }
    return replaced
  }

  /// The item with this content at a place, or a new one.
  private func item(_ content: Content, _ key: Key, at number: Int?, _ before: Item?) -> Item {
    let place = number.map { $0 - firstPlace }
    // While a reader catches up, an item's position is that of its change, for each of its lists.
    if catchUpCount == 0, let place, let item = places[place].item(content) { return item }
    // A member has more than its JSON says.
    if let before, before.bytes == content.bytes { return before.showing(content.member) }
    return Item(
      id: key.id, ordinal: place.map { places[$0].ordinal } ?? self.number + 1, owner: .gateway,
      facets: content.facets, bytes: content.bytes, position: Position(epoch: epoch, offset: self.number + 1),
      of: content.member)
  }

  func remove(_ id: String, from list: Int) {
    for key in [Key(id: id, list: list), Key(id: id)] {
      guard let number = numbers[key], item(key, list) != nil else { continue }
      remove(NumberSet(list), at: [number])
      break
    }
    compact()
  }

  /// Takes lists out of places at which all of them have an item, as one change.
  private func remove(_ lists: NumberSet, at numbers: [Int]) {
    var removed: [RemovedItem] = []
    for number in numbers {
      for (item, lists) in items(at: number, in: lists) {
        guard let item else { continue }
        places[number - firstPlace].take(lists, from: item)
        account(-item.bytes.count, -1, lists)
        // All that they have of a message has the same facets.
        if removed.last?.id != item.id { removed.append(RemovedItem(id: item.id, facets: item.facets)) }
        forget(number, item.id)
      }
    }
    publish(ItemChange(removing: removed), lists)
  }

  private func account(_ bytes: Int, _ count: Int, _ slots: NumberSet) {
    slots.forEach { slot in
      if let list = lists[slot] { return list.account(bytes, count) }
      unlisted[slot]?.count += count
      unlisted[slot]?.bytes += bytes
    }
  }

  /// Removes the oldest items of lists that have too many, each from all such lists at once; a list whose oldest item is
  /// that at this place keeps it.
  private func makeRoom(in slots: NumberSet, for place: Int) {
    if limits.itemsMax == .max, limits.itemsBytesMax == .max { return }
    while true {
      var oldest: [[Int]: NumberSet] = [:]
      slots.forEach { slot in
        guard let list = lists[slot], limits.isFull(list.count, list.bytes) else { return }
        let numbers = isDurable ? oldestPlace(of: list).map { [$0] } ?? [] : oldestPlaces(of: list, before: place)
        if let first = numbers.first, first != place { oldest[numbers, default: NumberSet()].insert(slot) }
      }
      if oldest.isEmpty { return compact() }
      for (numbers, lists) in oldest.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        if isDurable { evict(lists, at: numbers[0]) } else { remove(lists, at: numbers) }
      }
    }
  }

  /// The oldest places of a full list that make room for some more items, up to another.
  private func oldestPlaces(of list: SharedList, before end: Int) -> [Int] {
    var (numbers, count, bytes): ([Int], Int, Int) = ([], list.count, list.bytes)
    var next = oldestPlace(of: list)
    while let number = next, number != end, let item = places[number - firstPlace].item(in: list.slot),
      limits.removesMore(than: numbers.count, leaving: count, bytes)
    {
      numbers.append(number)
      (count, bytes) = (count - 1, bytes - item.bytes.count)
      next = place(of: list, from: number + 1)
    }
    return numbers
  }

  private func oldestPlace(of list: SharedList) -> Int? {
    let number = place(of: list, from: max(list.oldestPlace, firstPlace))
    list.oldestPlace = number ?? firstPlace + places.count
    return number
  }

  /// The first place from this one on at which a list has an item.
  private func place(of list: SharedList, from number: Int) -> Int? {
    (number..<max(number, firstPlace + places.count)).first { places[$0 - firstPlace].item(in: list.slot) != nil }
  }

  /// Forgets the ID of a place that no list has an item at.
  private func forget(_ number: Int, _ id: String) {
    guard places[number - firstPlace].isEmpty else { return }
    emptyCount += 1
    numbers[Key(id: id, list: places[number - firstPlace].list)] = nil
    if isDurable { onEmptied(places[number - firstPlace].ordinal) }
  }

  private func compact() {
    guard emptyCount > 64, emptyCount > places.count / 2 else { return }
    let oldCount = places.prefix { $0.isEmpty }.count
    places.removeFirst(oldCount)
    (firstPlace, emptyCount) = (firstPlace + oldCount, emptyCount - oldCount)
    guard emptyCount > places.count / 2 else { return }
    places.removeAll { $0.isEmpty }
    (firstPlace, emptyCount) = (0, 0)
    for (index, place) in places.enumerated() { if let key = place.key { numbers[key] = index } }
    for list in lists { list?.oldestPlace = 0 }
  }

  // MARK: Publishing

  private func publish(_ change: ItemChange, _ slots: NumberSet) {
    number += 1
    pageRounds?.changed()
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
    if rings.areFollowed {
      if listeners?.of != slots { listeners = (slots, Fanout.Listeners(slots.contains)) }
      change.publish(in: rings, binaryForms, to: listeners?.who)
    }
    if followed.isEmpty { return }
    followed.intersection(slots).forEach { lists[$0]?.notifyFollowers() }
  }

  /// The changes of several lists, latest first.
  var latestChanges: some Sequence<SharedChange> { changes.reversed() }
}
