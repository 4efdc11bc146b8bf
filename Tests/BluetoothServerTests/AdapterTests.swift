import BluetoothProtocol
import DBus
import Reactor
import TestKit
import Testing
import Wire

@testable import BluetoothServer

/// Adapters and bluetoothd, which come and go.
@Suite(.timeLimit(.minutes(1))) struct AdapterTests {
  @Test func `An adapter that is pulled out and plugged in is reported as soon as bluetoothd says so`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      #expect(try await scene.serve() == BluetoothState(addresses: [BluetoothAddress(0xA)], fault: .isNotAnnounced))
      #expect(await scene.state(with: nil)?.addresses == [BluetoothAddress(0xA)])
      scene.system.present = []
      try bluez.remove("/org/bluez/hci0", "org.bluez.Adapter1")
      #expect(await scene.state(with: .noAdapter)?.addresses == [])
      scene.system.present = [FakeSystem.adapter(1, address: 0xB)]
      try bluez.add("/org/bluez/hci1", "org.bluez.Adapter1")
      #expect(await scene.state(with: nil)?.addresses == [BluetoothAddress(0xB)])
      for (adapter, fault) in [
        (FakeSystem.adapter(1, isUp: false), BluetoothState.Fault.isDown),
        (FakeSystem.adapter(1, isUp: false, isBlocked: true), .isBlocked),
        (FakeSystem.adapter(1, isDiscoverable: false), .isNotDiscoverable),
      ] {
        scene.system.present = [adapter]
        try bluez.changeAdapter()
        #expect(await scene.state(with: fault) != nil)
      }
      // The socket that listens at any adapter outlives each of them.
      #expect(scene.system.listens == [.any] && bluez.calls == 1)
    }
  }

  @Test func `A host that named an adapter listens anew at another one that has got its name`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      scene.system.present = [FakeSystem.adapter(0, address: 0xA), FakeSystem.adapter(1, address: 0xB)]
      #expect(try await scene.serve(adapter: "hci1")?.addresses == [BluetoothAddress(0xB)])
      #expect(await scene.state(with: nil) != nil)
      scene.system.present = []
      try bluez.changeAdapter()
      #expect(await scene.state(with: .noAdapter) != nil)
      scene.system.present = [FakeSystem.adapter(1, address: 0xB)]
      try bluez.changeAdapter()
      #expect(await scene.state(with: nil) != nil)
      #expect(scene.system.listens == [BluetoothAddress(0xB)] && bluez.calls == 1)
      scene.system.present = [FakeSystem.adapter(1, address: 0xC)]
      try bluez.changeAdapter()
      #expect(await scene.state(with: nil)?.addresses == [BluetoothAddress(0xC)])
      #expect(scene.system.listens == [BluetoothAddress(0xB), BluetoothAddress(0xC)])
      scene.system.accepting = BluetoothAddress(0xC)
      let device = try scene.system.arrive()
      #expect(await scene.next() == .accepted(BluetoothAddress(0x101), at: BluetoothAddress(0xC)))
      withExtendedLifetime(device.number) {}
    }
  }

  @Test func `Signals of adapters without end do not put off the look at them`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      _ = try await scene.serve()
      #expect(await scene.state(with: nil) != nil)
      scene.system.present = []
      var signals = 0
      func repeatSignal() {
        signals += 1
        try? bluez.changeAdapter()
        // Without an end the test would only hang.
        if signals < 200 { reactor.schedule(after: .milliseconds(20)) { repeatSignal() } }
      }
      repeatSignal()
      #expect(await scene.state(with: .noAdapter) != nil && signals < 100)
    }
  }

  @Test func `Devices that somebody else scans cause no look at the adapters`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      _ = try await scene.serve()
      #expect(await scene.state(with: nil) != nil)
      let looks = scene.system.looks
      for number in 0..<10 {
        let object = "/org/bluez/hci0/dev_00_00_00_00_00_0\(number)"
        try bluez.add(object, "org.bluez.Device1")
        try bluez.change(object, "org.bluez.Device1")
        try bluez.remove(object, "org.bluez.Device1")
        await pass(.milliseconds(30), on: reactor)
      }
      scene.system.present = []
      try bluez.changeAdapter()
      #expect(await scene.state(with: .noAdapter) != nil)
      #expect(scene.system.looks == looks + 1)
    }
  }

  @Test func `A machine without Bluetooth sockets says so, and one without a bus is looked at again`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      scene.system.canHaveSockets = false
      #expect(try await scene.serve() == BluetoothState(addresses: [BluetoothAddress(0xA)], fault: .noSockets))
      scene.system.canHaveSockets = true
      scene.system.registers = true
      // After three seconds.
      #expect(await scene.state(with: nil) != nil)
    }
  }

  @Test func `bluetoothd that starts anew gets the record, and meanwhile the host is not announced`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let first = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      _ = try await scene.serve()
      #expect(await scene.state(with: nil) != nil)
      #expect(first.records.values.contains { $0.contains(Scene.host.text) })
      first.bus.close()
      #expect(await scene.state(with: .isNotAnnounced) != nil)
      let second = try await FakeBluez(bus.path, on: reactor)
      #expect(await scene.state(with: nil) != nil)
      #expect(second.records.values.contains { $0.contains(Scene.host.text) } && second.calls == 1)
    }
  }

  @Test func `A bus that ends leaves the host served, but not announced`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      _ = try await scene.serve()
      #expect(await scene.state(with: nil) != nil)
      bus.stop()
      #expect(await scene.state(with: .isNotAnnounced)?.addresses == [BluetoothAddress(0xA)])
      try scene.send(.inquire(units: 1))
      #expect(await scene.next() == .inquired(succeeded: true))
      withExtendedLifetime(bluez) {}
    }
  }
}
