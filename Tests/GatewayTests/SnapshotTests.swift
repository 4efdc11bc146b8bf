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

  private func told(_ snapshot: Snapshot) throws -> JSON { try JSON(parsing: Array(snapshot.joined())) }

  private func ids(_ told: JSON) -> [String] { told["items"]?.list?.compactMap { $0["id"]?.text } ?? [] }

  @Test("What fits is told whole, in order, in pieces that are each small")
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

  @Test("Where it is too much, a WebSocket has room for the latest, and pages lead to them from the oldest on")
  func latest() throws {
    put(1...20, bytes: 1 << 20)
    let bytes = Snapshot(of: collection, since: nil, for: viewer).reduce(0) { $0 + $1.count }
    #expect((15 << 20...Snapshot.bytesMax + 200).contains(bytes) && bytes < SocketClient.queuedBytesMax)
    let page = collection.page(after: 0, atMost: 99, bytes: Listing.pageBytesMax, for: viewer, where: [:])
    #expect(page.items.map(\.ordinal) == Array(1...15) && page.hasMore)
    #expect((15 << 20...Listing.pageBytesMax + 200).contains(Listing().page(of: collection, for: viewer).bytesCount))

    put(21...Snapshot.itemsMax + 7, bytes: 1)
    for number in 1...20 { collection.remove("m\(number)") }
    put(1...20, bytes: 1)
    let told = try told(Snapshot(of: collection, since: nil, for: viewer))
    let latest = Array(28...Snapshot.itemsMax + 7) + Array(1...20)
    #expect(ids(told) == latest.map { "m\($0)" } && told["oldest"] == "m21")
  }

  @Test("Who reads slowly is told what is there when its piece is written, and nothing that is newer than the position")
  func meanwhile() throws {
    put(1...200, bytes: 1_000)
    put(201...300, bytes: 1_000, in: "b")
    var snapshot = Snapshot(of: collection, since: nil, for: viewer, where: ["list": "a"])
    var bytes = snapshot.next() ?? []
    bytes += snapshot.next() ?? []
    collection.remove("m199")
    put(301...400, bytes: 1_000)
    while let piece = snapshot.next() { bytes += piece }
    let told = try JSON(parsing: bytes)
    #expect(ids(told) == (1...200).filter { $0 != 199 }.map { "m\($0)" } && told["position"] == "abc.300")
  }
}
