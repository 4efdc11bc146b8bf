internal import Notation
internal import Testing
internal import Web

@testable internal import Gateway

@Suite("All things anew, as far as one answer has room for them")
struct SnapshotTests {
  private let viewer: ClientView
  private let collection = Collection(path: "/", number: 1, epoch: "abc", viewer: { _ in nil })

  init() { viewer = .console }

  private func put(_ numbers: ClosedRange<Int>, bytes: Int, in list: String = "a") {
    for number in numbers {
      let json: JSON = ["id": .text("m\(number)"), "text": .text(String(repeating: "x", count: bytes))]
      collection.put("m\(number)", json, owner: .gateway, facets: ["list": list])
    }
  }

  private func told(_ snapshot: Snapshot) throws -> JSON { try JSON(parsing: snapshot.pieces().joined) }

  private func ids(_ told: JSON) -> [String] { told["items"]?.list?.compactMap { $0["id"]?.text } ?? [] }

  @Test("A snapshot that fits is sent whole, in order, in pieces that are each small")
  func whole() throws {
    #expect(try told(Snapshot(of: collection, since: nil, for: viewer))["items"] == [])
    put(1...500, bytes: 1_000)
    let snapshot = Snapshot(of: collection, since: Position(epoch: "abc", offset: 2), for: viewer, [.init("number", 7)])
    #expect(Array(snapshot).count > 5 && snapshot.allSatisfy { $0.count < 70_000 })
    let told = try told(snapshot)
    #expect(ids(told) == (1...500).map { "m\($0)" })
    #expect(told["recovered"] == false && told["position"] == "abc.500" && told["number"] == 7)
    #expect(told["missed"] == 498 && told["oldest"] == nil)
  }

  @Test("If it is too large, a WebSocket gets the latest items, and pages lead to them from the oldest on")
  func latest() throws {
    put(1...20, bytes: 1 << 20)
    let bytes = Snapshot(of: collection, since: nil, for: viewer).reduce(0) { $0 + $1.count }
    #expect((15 << 20...Snapshot.bytesMax + 200).contains(bytes) && bytes < ResponseBudget.bytesMax)
    let page = collection.page(after: 0, atMost: 99, bytes: Listing.pageBytesMax, for: viewer, where: [:])
    #expect(page.items.map(\.ordinal) == Array(1...15) && page.hasMore)
    #expect(
      (15 << 20...Listing.pageBytesMax + 200).contains(Listing().page(of: collection, for: viewer).largeBytes ?? 0))

    put(21...Snapshot.itemsMax + 7, bytes: 1)
    for number in 1...20 { collection.remove("m\(number)") }
    put(1...20, bytes: 1)
    let told = try told(Snapshot(of: collection, since: nil, for: viewer))
    let latest = Array(28...Snapshot.itemsMax + 7) + Array(1...20)
    #expect(ids(told) == latest.map { "m\($0)" } && told["oldest"] == "m21")
  }

  @Test("A slow reader gets the items of the time at which its piece is written, and none newer than the position")
  func meanwhile() throws {
    put(1...200, bytes: 1_000)
    put(201...300, bytes: 1_000, in: "b")
    var snapshot = Snapshot(of: collection, since: nil, for: viewer, where: ["list": "a"])
    var bytes = snapshot.next()?.joined ?? []
    bytes += snapshot.next()?.joined ?? []
    collection.remove("m199")
    put(301...400, bytes: 1_000)
    while let piece = snapshot.next() { bytes += piece.joined }
    let told = try JSON(parsing: bytes)
    #expect(ids(told) == (1...200).filter { $0 != 199 }.map { "m\($0)" } && told["position"] == "abc.300")
  }

  /// A channel that lasts and has no room for more than 300 things; all before them is in the attic.
  private func lasting() -> (Collection, any HistorySource) {
    var limits = Collection.Limits()
    limits.itemsMax = 300
    let collection = Collection(path: "/", number: 1, epoch: "abc", limits: limits, viewer: { _ in nil })
    let historySource = Bare()
    collection.begin(with: [], at: 0, historySource: historySource)
    put(1...300, in: collection)
    return (collection, historySource)
  }

  private func put(_ numbers: ClosedRange<UInt64>, in collection: Collection) {
    for number in numbers {
      let json: JSON = ["id": .text("m\(number)"), "text": .text(String(repeating: "x", count: 1_000))]
      collection.publishStored(
        Item(
          id: "m\(number)", ordinal: number, owner: .gateway, facets: [:], bytes: json.bytes,
          position: Position(epoch: "abc", offset: number)))
    }
  }

  /// The text of a stream of events as far as it is available, and whether the stream has ended.
  private func read(_ stream: EventStream, atMost bytesMax: Int = .max) -> (text: String, hasEnded: Bool) {
    var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 8 << 10))
    while bytes.count < bytesMax {
      switch piece.withUnsafeMutableBytes({ stream.pull($0) }) {
      case .wrote(let count): bytes += piece[..<count]
      case .nothingYet: return (String(decoding: bytes, as: UTF8.self), false)
      case .end, .failed: return (String(decoding: bytes, as: UTF8.self), true)
      }
    }
    return (String(decoding: bytes, as: UTF8.self), false)
  }

  @Test(
    "A stream of events whose client has not read what leaves a channel that lasts ends before its snapshot does",
    arguments: [false, true])
  func torn(isPruned: Bool) throws {
    let (collection, historySource) = lasting()
    let stream = EventStream(collection, Listing(), viewer)
    let start = read(stream, atMost: 100_000)
    #expect(start.text.contains("event: snapshot\nid: abc.300\n") && start.text.contains(#""id":"m64""#))
    // Neither change is sent.
    if isPruned { collection.forget(before: 200) } else { put(301...499, in: collection) }
    let rest = read(stream)
    #expect(rest.hasEnded && !rest.text.contains("\n") && !rest.text.contains(#""id":"m200""#))
    withExtendedLifetime(historySource) {}
  }

  @Test("An item that leaves a durable channel after its client has read it is missed by no snapshot")
  func untorn() throws {
    let (collection, historySource) = lasting()
    let stream = EventStream(collection, Listing(), viewer)
    let start = read(stream, atMost: 100_000)
    put(301...350, in: collection)
    let rest = read(stream)
    let lines = (start.text + rest.text).split(separator: "\n")
    let snapshot = try JSON(parsing: String(try #require(lines.first { $0.hasPrefix("data: ") }).dropFirst(6)))
    #expect(ids(snapshot) == (1...300).map { "m\($0)" } && snapshot["position"] == "abc.300")
    #expect(!rest.hasEnded && lines.filter { $0.hasPrefix("id: ") } == (300...350).map { "id: abc.\($0)" })
    withExtendedLifetime(historySource) {}
  }
}

/// An attic in which nothing is looked for.
private final class Bare: HistorySource {
  var oldest: (ordinal: UInt64, id: String)? { nil }

  func page(
    after ordinal: UInt64, atMost count: Int, where filter: [String: String]
  ) async throws -> (items: [Item], hasMore: Bool) { ([], false) }

  func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)? { nil }
  func item(_ id: String) async throws -> Item? { nil }
}
