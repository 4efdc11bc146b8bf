internal import Foundation
internal import Nearby
internal import Notation
internal import Store
internal import Synchronization
internal import Testing

@testable internal import Gateway

/// A gateway of its own in this process, at a free port of the loopback.
final class TestGateway: Sendable {
  private let state: Mutex<Gateway?>
  let port: UInt16
  private let options: GatewayOptions

  private init(_ gateway: Gateway, _ port: UInt16, _ options: GatewayOptions) {
    state = Mutex(gateway)
    self.port = port
    self.options = options
  }

  /// The gateway, which must not be closed.
  var running: Gateway {
    guard let gateway = state.withLock({ $0 }) else { preconditionFailure("the gateway is closed") }
    return gateway
  }

  var folder: String { options.folder }

  /// `next` to another one, it looks for peers there.
  static func open(
    _ name: String = "Box", nextTo other: TestGateway? = nil, _ change: (inout GatewayOptions) -> Void = { _ in }
  ) async throws -> TestGateway {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)").path
    var options = GatewayOptions(folder: folder)
    options.name = name
    options.host.keys = .folder("\(folder)/keys")
    options.host.port = 0
    // This machine may be busy with other tests.
    options.authenticationTimeout = .seconds(60)
    options.host.discovery = .fixed(other.map { ["127.0.0.1:\($0.port)"] } ?? [])
    options.contract = Document.path
    change(&options)
    return try await start(options)
  }

  private static func start(_ options: GatewayOptions) async throws -> TestGateway {
    let gateway = try await Gateway.start(options)
    let port = try #require(await gateway.host.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
    return TestGateway(gateway, port, options)
  }

  /// The same after a restart.
  func restarted(_ meanwhile: () async throws -> Void = {}) async throws -> TestGateway {
    await stop()
    try await meanwhile()
    var options = options
    options.host.port = port
    // Its keys and its database are free when the last of it is gone.
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      do {
        return try await Self.start(options)
      } catch {
        guard Self.isInUse(error), ContinuousClock.now < deadline else { throw error }
        await Task.yield()
      }
    }
  }

  private static func isInUse(_ error: any Error) -> Bool {
    if case .inUse? = error as? StoreError { return true }
    return (error as? NearbyError)?.code == .unavailable
  }

  private func stop() async {
    await state.withLock { $0.take() }?.stop()
  }

  func close() async {
    await stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The path of a file that begins to come, once that is stored.
  func nextComing() async throws -> String {
    let store = try #require(await running.sessionStore).writer
    while true {
      if let path = try await store.perform({ try $0.incomingPaths().first }) { return path }
    }
  }

  /// Nobody.
  var stranger: HTTPClient { HTTPClient(port: port) }

  /// A client that has spent a pairing code for a role.
  func client(_ role: String = "member") async throws -> HTTPClient {
    let answer = try await pair(role)
    return HTTPClient(port: port, token: try #require(answer.json["token"]?.text, "\(answer.text)"))
  }

  func pair(_ role: String, _ more: [JSON.Member] = []) async throws -> Answer {
    let code = try await running.makePairingCode(role: role)
    return try await stranger.post("/v1/pairings", .object([.init("code", .text(code))] + more))
  }
}

/// Opens a gateway, and closes it whatever the test does with it.
func withGateway(
  _ change: (inout GatewayOptions) -> Void = { _ in }, _ test: (TestGateway) async throws -> Void
) async throws {
  let place = try await TestGateway.open("Box", change)
  do {
    try await test(place)
  } catch {
    await place.close()
    throw error
  }
  await place.close()
}
