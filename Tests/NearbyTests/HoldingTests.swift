internal import Foundation
internal import Nearby
internal import Testing

@Suite("What is received without a place for it", .timeLimit(.minutes(3)))
struct HoldingTests {
  @Test("P-RES-4 A file is kept until it is moved away or let go of, and what is left goes with its host")
  func kept() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let bytes = [UInt8](repeating: 7, count: 100_000)
    var moved = try await receive("moved", bytes, ada, bob)
    let target = FileManager.default.temporaryDirectory.appendingPathComponent("moved-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: target) }
    try FileManager.default.moveItem(atPath: moved.path, toPath: target)
    moved.resource = nil
    var dropped = try await receive("dropped", bytes, ada, bob)
    let left = try await receive("left", bytes, ada, bob)
    #expect(FileManager.default.contents(atPath: dropped.path).map { Array($0) } == bytes)
    dropped.resource = nil
    // Folders are removed in the order of their release.
    _ = try await receive("later", bytes, ada, bob)
    #expect(!FileManager.default.fileExists(atPath: dropped.path))
    #expect(FileManager.default.fileExists(atPath: left.path))
    await TwoPeers.leave(ada, bob)
    let folder = URL(fileURLWithPath: left.path).deletingLastPathComponent().deletingLastPathComponent().path
    #expect(folder.contains("vicinity-"))
    #expect(!FileManager.default.fileExists(atPath: folder))
    #expect(FileManager.default.contents(atPath: target).map { Array($0) } == bytes)
    withExtendedLifetime(left.resource) {}
  }

  private func receive(
    _ name: String, _ bytes: [UInt8], _ ada: TwoPeers.SessionPeer, _ bob: TwoPeers.SessionPeer
  ) async throws -> (resource: IncomingResource?, path: String) {
    let sent = try await ada.session.send(.bytes(bytes), name: name, to: try #require(ada.session.members.first))
    let offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    try await offer.accept()
    let path = try await offer.finished()
    try await sent.finished()
    #expect(path.hasSuffix("/" + name))
    return (offer, path)
  }
}
