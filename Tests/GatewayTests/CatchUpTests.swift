internal import Notation
internal import Testing
internal import Web

@testable internal import Gateway

@Suite("A reader that catches up with a channel")
struct CatchUpTests {
  private let viewer = ClientView.console

  /// A channel that keeps few changes.
  private func channel() -> Collection {
    var limits = Collection.Limits()
    limits.changesMax = 12
    limits.itemsMax = 60
    return Collection(path: "/", number: 1, epoch: "abc", limits: limits, viewer: { _ in nil })
  }

  private static func apply(_ changes: some Sequence<Change>, to items: inout [String: [UInt8]]) {
    for change in changes { for id in change.ids { items[id] = change.bytes } }
  }

  private func items(_ channel: Collection) -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: channel.seen(by: viewer).map { ($0.id, $0.bytes) })
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `a reader that began with a snapshot has all in the end, however slow it is and whatever happens meanwhile`(
    _ seed: UInt64
  ) throws {
    var random = Seeded(state: seed)
    let channel = channel()
    func change(_ count: Int) {
      for _ in 0..<count {
        let id = "m\(Int.random(in: 0..<80, using: &random))"
        if Int.random(in: 0..<3, using: &random) == 0 {
          channel.remove(id)
        } else {
          channel.put(id, ["id": .text(id), "v": .number(Int.random(in: 0..<9, using: &random))], owner: .gateway)
        }
      }
    }
    change(200)
    let latest = channel.latest(.max, bytes: .max, for: viewer, where: [:])
    let encoding = SnapshotEncoding(latest, at: channel.position, upTo: channel.lastOrdinal, for: viewer)
    var known = items(channel)
    #expect(Set(encoding.ids) == Set(known.keys))
    var position = encoding.position
    var catchUp = CatchUp(knowing: encoding.ids, upTo: encoding.lastOrdinal)
    var hasDifference = false
    var steps = 0
    reading: while true {
      // It reads more and more, and so comes to an end.
      change(max(0, 30 - steps))
      steps += 1
      hasDifference = hasDifference || channel.changes(after: position) == nil
      switch catchUp.next(after: position, of: channel, for: viewer, atMost: 60) {
      case .changes(let batch):
        var last = position.offset
        for change in batch.changes {
          #expect(change.offset > last)
          last = change.offset
        }
        #expect(last <= batch.position.offset)
        Self.apply(batch.changes, to: &known)
        position = batch.position
      case .done: break reading
      case .stored, .lost:
        Issue.record("it has lost its way")
        break reading
      }
      // A position from any point resumes with the rest, or the client begins anew.
      if channel.knows(position) {
        var resumed = known
        Self.apply(try #require(channel.changes(after: position)), to: &resumed)
        #expect(resumed == items(channel))
      }
    }
    #expect(hasDifference && known == items(channel) && position == channel.position)
  }

  @Test func `a reader that began with changes is told where those after them are gone`() {
    let channel = channel()
    func put(_ numbers: ClosedRange<Int>) {
      for number in numbers { channel.put("m\(number)", ["id": .text("m\(number)")], owner: .gateway) }
    }
    put(1...20)
    var catchUp = CatchUp()
    let position = Position(epoch: "abc", offset: 9)
    guard case .changes(let batch) = catchUp.next(after: position, of: channel, for: viewer, atMost: 1) else {
      Issue.record("the changes are kept")
      return
    }
    #expect(batch.changes.map(\.id) == ["m10"] && batch.position.offset == 10)
    put(21...50)
    guard case .lost = catchUp.next(after: batch.position, of: channel, for: viewer, atMost: 1) else {
      Issue.record("the changes are gone")
      return
    }
  }

  @Test func `the changes that a reader catches up with are kept for twice as long`() {
    let channel = channel()
    func put(_ numbers: ClosedRange<Int>) {
      for number in numbers { channel.put("m\(number)", ["id": .text("m\(number)")], owner: .gateway) }
    }
    put(1...12)
    let subscription = Subscription(channel)
    subscription.begin(after: Position(epoch: "abc", offset: 0))
    put(13...24)
    #expect(channel.changes(after: subscription.position)?.count == 24)
    subscription.finish()
    put(25...25)
    #expect(channel.changes(after: Position(epoch: "abc", offset: 12)) == nil)
    #expect(channel.changes(after: Position(epoch: "abc", offset: 13))?.count == 12)
  }

  @Test func `the oldest items of a full channel leave together, those of each owner by a change of their own`() {
    let channel = channel()
    func put(_ numbers: ClosedRange<Int>, _ owner: Owner) {
      for number in numbers {
        channel.put("m\(number)", ["id": .text("m\(number)")], owner: owner, facets: ["odd": "\(number % 2 == 1)"])
      }
    }
    put(1...2, .gateway)
    put(3...60, .client(viewer.id))
    #expect(channel.count == 60 && channel.offset == 60)
    put(61...61, .gateway)
    let last = channel.changes(after: Position(epoch: "abc", offset: 61)) ?? []
    #expect(last.map(\.ids) == [["m1", "m2"]] && channel.count == 59)
    put(62...63, .gateway)
    let next = channel.changes(after: Position(epoch: "abc", offset: 64)) ?? []
    #expect(next.map(\.ids) == [["m3", "m4", "m5", "m6"]] && channel.count == 57)
    // A reader with a filter is told of what it had.
    func removed(_ filter: [String: String]) -> [String] {
      if case .del(let ids)? = next.first?.update(for: viewer, where: filter) { ids } else { [] }
    }
    #expect(removed([:]) == ["m3", "m4", "m5", "m6"] && removed(["odd": "true"]) == ["m3", "m5"])
    #expect(removed(["odd": "other"]) == [])
    #expect(
      String(decoding: next[next.startIndex].json(putting: nil, in: 7), as: UTF8.self)
        == #"{"n":7,"o":65,"gone":["m3","m4","m5","m6"]}"#)
  }

  @Test func `items that are gone for a reader far behind are told at once`() throws {
    let channel = channel()
    func put(_ numbers: ClosedRange<Int>) {
      for number in numbers { channel.put("m\(number)", ["id": .text("m\(number)")], owner: .gateway) }
    }
    put(1...40)
    let known = channel.seen(by: viewer).map(\.id)
    var catchUp = CatchUp(knowing: known, upTo: channel.lastOrdinal)
    let position = channel.position
    for id in known { channel.remove(id) }
    put(41...60)
    guard case .changes(let batch) = catchUp.next(after: position, of: channel, for: viewer, atMost: 1 << 16) else {
      Issue.record("it has lost its way")
      return
    }
    #expect(batch.changes.first?.ids == known)
    #expect(batch.changes.dropFirst().map(\.id) == (41...48).map { "m\($0)" })
  }

  @Test func `one encoding is shared by the sockets of a client, while one of them sends it`() throws {
    let channel = channel()
    for number in 1...50 { channel.put("m\(number)", ["id": .text("m\(number)")], owner: .gateway) }
    let items = channel.latest(.max, bytes: .max, for: viewer, where: [:])
    var frame = Pieces([[1]])
    do {
      let encoding = SnapshotEncoding(items, at: channel.position, upTo: channel.lastOrdinal, for: viewer)
      #expect(try JSON(parsing: encoding.list.joined).list?.count == 50)
      channel.share(encoding)
      frame.append(encoding.list)
      frame.keep(encoding)
    }
    let other = ClientView(id: ClientID(text: "other"), name: "Other", role: .member)
    #expect(channel.encoding(for: viewer) != nil && channel.encoding(for: other) == nil)
    // The changes since must be known, where nothing makes the client wait for an encoding of its own.
    for number in 51...80 { channel.put("m\(number)", ["id": .text("m\(number)")], owner: .gateway) }
    #expect(channel.encoding(for: viewer) == nil && channel.encoding(for: viewer, ofAnyAge: true) != nil)
    // Items that are no longer stored are not sent again.
    channel.forget(before: 40)
    #expect(channel.encoding(for: viewer, ofAnyAge: true) == nil)
    channel.share(SnapshotEncoding(items, at: channel.position, upTo: channel.lastOrdinal, for: viewer))
    #expect(channel.encoding(for: viewer) == nil, "nobody sends it")
    withExtendedLifetime(frame) {}
  }

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var word = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
      word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
      return word ^ (word >> 31)
    }
  }
}
