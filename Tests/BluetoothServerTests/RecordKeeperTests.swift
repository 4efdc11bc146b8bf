import BluetoothProtocol
import DBus
import Reactor
import TestKit
import Testing

@testable import BluetoothServer

/// The registration of a host's record at a bluetoothd that refuses it, or does not answer.
@Suite(.timeLimit(.minutes(1))) struct RecordKeeperTests {
  /// A keeper that the test waits for.
  private final class Place {
    let system = FakeSystem()
    private(set) var changes = 0
    private var keeper: RecordKeeper?
    private var waiting: CheckedContinuation<Void, Never>?

    init(_ path: String, on reactor: Reactor) {
      keeper = RecordKeeper(
        HostRecord(Scene.host, channel: 3), by: system, overBusAt: path, on: reactor, pause: .milliseconds(50)
      ) { [unowned self] in
        changes += 1
        waiting?.resume()
        waiting = nil
      }
      // It lives as long as the loop.
      reactor.schedule(after: .seconds(3_600)) { [self] in end() }
    }

    var isRegistered: Bool { keeper?.isRegistered == true }

    nonisolated(nonsending) func change() async { await withCheckedContinuation { waiting = $0 } }

    nonisolated(nonsending) func registration(_ isRegistered: Bool = true) async {
      while self.isRegistered != isRegistered { await change() }
    }

    func end() { keeper = nil }
  }

  @Test func `A record that is refused is tried at bluetoothd's own socket, and again on the bus`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor, .refuses("NotPermitted"))
      let place = Place(bus.path, on: reactor)
      while bluez.calls < 3 { await place.change() }
      #expect(!place.isRegistered && place.system.registrations >= 2)
      bluez.mode = .registers
      await place.registration()
      let calls = bluez.calls
      await pass(.milliseconds(200), on: reactor)
      #expect(bluez.calls == calls && bluez.records.count == 1)
    }
  }

  @Test func `A socket of bluetoothd that takes the record is enough`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor, .refuses("NotPermitted"))
      let place = Place(bus.path, on: reactor)
      place.system.registers = true
      await place.registration()
      await pass(.milliseconds(200), on: reactor)
      #expect(place.isRegistered && bluez.calls == 1 && place.system.registrations == 1)
    }
  }

  @Test func `A record that bluetoothd has registered without an answer in time counts, and is one`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor, .isLate)
      let place = Place(bus.path, on: reactor)
      // The first call ends by time.
      await place.registration()
      bluez.answerLate()
      await pass(.milliseconds(200), on: reactor)
      #expect(place.isRegistered && bluez.calls == 2 && bluez.records.count == 1)
    }
  }

  @Test func `Answers to a keeper that has ended, and signals of bluetoothd after it, reach nobody`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor, .isLate)
      let place = Place(bus.path, on: reactor)
      while bluez.calls == 0 { await pass(.milliseconds(5), on: reactor) }
      place.end()
      let changes = place.changes
      bluez.answerLate()
      try bluez.changeAdapter()
      await pass(.milliseconds(200), on: reactor)
      #expect(place.changes == changes)
    }
  }

  @Test func `bluetoothd that starts and ends again and again is followed to its last state`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let place = Place(bus.path, on: reactor)
      for _ in 0..<10 {
        let bluez = try await FakeBluez(bus.path, on: reactor)
        bluez.bus.close()
      }
      let last = try await FakeBluez(bus.path, on: reactor)
      await place.registration()
      #expect(last.records.count == 1)
      last.bus.close()
      await place.registration(false)
    }
  }
}
