internal import Notation
internal import Testing

@testable internal import Gateway

/// Peers of many clients of one gateway in one session.
struct CrowdTests {
  private static let size = 12

  private static func crowd(at place: Place) async throws -> [(client: Asker, path: String)] {
    var crowd: [(client: Asker, path: String)] = []
    for number in 0..<size {
      let client = try await place.client()
      let peer = try await client.make("/v1/peers", ["displayName": .text("Peer \(number)")]).id
      let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
      crowd.append((client, "/v1/sessions/\(session)"))
    }
    for (client, path) in crowd {
      let id = JSON.text(String(path.split(separator: "/").last ?? ""))
      _ = try await client.wait(in: "/v1/sessions") { $0["id"] == id && $0["connected"] == .number(size - 1) }
    }
    return crowd
  }

  @Test func `the JSON of a member is written once for each of its states, and all who see it share its bytes`()
    async throws
  {
    try await atPlace { place in
      _ = try await Self.crowd(at: place)
      let found = try #require(
        await place.gateway.answer { core in
          (
            core.memberTexts.writtenCount,
            core.sessions.values.flatMap { session in
              session.present.keys.compactMap { session.members[$0]?.bytes }
            }.map { $0.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) } }
          )
        })
      // Each is connecting, and then connected, and some are told their inviter in between; not once for each pair.
      #expect(found.0 <= 6 * Self.size, "\(found.0)")
      #expect(found.1.count == Self.size * (Self.size - 1))
      #expect(Set(found.1).count <= 2 * Self.size)
    }
  }

  @Test func `a session is published once for all that join it at once`() async throws {
    try await atPlace { place in
      let crowd = try await Self.crowd(at: place)
      let before = try #require(await place.gateway.answer { $0.sessionList.offset })
      let client = try await place.client()
      let peer = try await client.make("/v1/peers", ["displayName": "Late"]).id
      let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
      for (client, path) in crowd {
        let id = JSON.text(String(path.split(separator: "/").last ?? ""))
        _ = try await client.wait(in: "/v1/sessions") { $0["id"] == id && $0["connected"] == .number(Self.size) }
      }
      _ = try await client.wait(in: "/v1/sessions") {
        $0["id"] == .text(session) && $0["connected"] == .number(Self.size)
      }
      let after = try #require(await place.gateway.answer { $0.sessionList.offset })
      // Once for each of those that were there, and for the new one a few times, not once for each of them.
      #expect(after - before <= UInt64(Self.size + 4), "\(after - before)")
    }
  }
}
