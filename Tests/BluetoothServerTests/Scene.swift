import BluetoothProtocol
import Reactor
import TestKit
import Testing
import Wire

@testable import BluetoothServer

/// The service of a host, which the test plays, on a loop.
final class Scene {
  static let host = HostID(ID128(high: 3, low: 4))
  static let device = BluetoothAddress(0xD0)
  /// The only one, where a test has no others.
  static let adapter = BluetoothAddress(0xA)

  /// Runs the body on a loop of its own.
  static func run(_ body: @escaping @Sendable (Reactor) async throws -> Void) async throws {
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    let result = await reactor.spawn { () -> Result<Void, any Error> in
      do { return .success(try await body(reactor)) } catch { return .failure(error) }
    }.value
    try result.get()
  }

  let reactor: Reactor
  let system = FakeSystem()
  let service: BluetoothService
  private let connection: HostConnection
  private let socket: Descriptor
  private var registration: Registration?
  private var reports: [BluetoothReport] = []
  private var waiting: CheckedContinuation<BluetoothReport?, Never>?
  private(set) var sockets = 0
  private(set) var hasEnded = false

  init(overBusAt path: String, on reactor: Reactor) throws {
    self.reactor = reactor
    let pair = try Descriptor.packetPair()
    socket = try pair.ours.duplicate()
    var end: () -> Void = {}
    connection = try HostConnection(try pair.theirs.duplicate(), on: reactor) { end() }
    service = BluetoothService(by: system, overBusAt: path, reporting: connection, on: reactor)
    connection.handle = { [service] in service.handle($0) }
    end = { [unowned self] in
      hasEnded = true
      deliver()
    }
    registration = try reactor.register(socket, for: .readable) { [unowned self] _ in receive() }
    // As the process does, it lives as long as its loop.
    reactor.schedule(after: .seconds(3_600)) { [self] in stopReading() }
  }

  func send(_ command: BluetoothCommand) throws { try socket.sendPacket(command.bytes) }

  func send(_ bytes: [UInt8]) throws { try socket.sendPacket(bytes) }

  func stopReading() {
    if let registration { reactor.deregister(registration) }
    registration = nil
  }

  private func receive() {
    while var packet = try? socket.receivePacket(bytesMax: BluetoothReport.bytesMax) {
      guard let report = BluetoothReport(packet.bytes) else { break }
      let hasSocket = packet.descriptor.take() != nil
      if hasSocket { sockets += 1 }
      #expect(hasSocket == report.hasDescriptor)
      reports.append(report)
    }
    deliver()
  }

  private func deliver() {
    guard let waiting, !reports.isEmpty || hasEnded else { return }
    self.waiting = nil
    waiting.resume(returning: reports.isEmpty ? nil : reports.removeFirst())
  }

  /// The next report; nil once the service has ended the connection.
  nonisolated(nonsending) func next() async -> BluetoothReport? {
    if !reports.isEmpty { return reports.removeFirst() }
    return hasEnded ? nil : await withCheckedContinuation { waiting = $0 }
  }

  /// Takes reports until a state has this fault.
  nonisolated(nonsending) func state(with fault: BluetoothState.Fault?) async -> BluetoothState? {
    while let report = await next() {
      if case .state(let state) = report, state.fault == fault { return state }
    }
    return nil
  }

  /// Serves the host, and waits for its first state.
  nonisolated(nonsending) func serve(adapter: String? = nil) async throws -> BluetoothState? {
    try send(.serve(Self.host, adapter: adapter))
    guard case .state(let state)? = await next() else { return nil }
    return state
  }
}

/// Lets some time pass on the loop.
nonisolated(nonsending) func pass(_ time: Duration, on reactor: Reactor) async {
  await withCheckedContinuation { continuation in reactor.schedule(after: time) { continuation.resume() } }
}
