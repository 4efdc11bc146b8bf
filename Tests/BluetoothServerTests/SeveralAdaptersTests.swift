import BluetoothProtocol
import Glibc
import Reactor
import TestKit
import Testing
import Wire

@testable import BluetoothServer

/// A machine with several adapters, of which each has its own reach.
@Suite(.timeLimit(.minutes(1))) struct SeveralAdaptersTests {
  private static let adapters = (0xA...0xC).map { BluetoothAddress($0) }
  private static let (first, second, third) = (adapters[0], adapters[1], adapters[2])
  private static let other = BluetoothAddress(0xE0)
  private static let answer = SDP.answer(SDP.lists([HostRecord(Scene.host, channel: 9)]))

  private static var present: [Adapter] {
    adapters.enumerated().map { FakeSystem.adapter(CInt($0.offset), address: $0.element.value) }
  }

  private static func found(_ devices: BluetoothAddress...) -> [InquiredDevice] {
    devices.map { InquiredDevice($0, deviceClass: 0x104) }
  }

  @Test func `A device is reported once, with the adapters that have found it, also where one of them cannot inquire`()
    async throws
  {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      scene.system.present = Self.present
      scene.system.inquiredOnly = [
        0: Self.found(Scene.device), 1: nil, 2: Self.found(Self.other, Scene.device, Self.other),
      ]
      #expect(try await scene.serve()?.addresses == Self.adapters)
      try scene.send(.inquire(units: 2))
      #expect(await scene.next() == .seen(Scene.device, deviceClass: 0x104, at: [Self.first, Self.third]))
      #expect(await scene.next() == .seen(Self.other, deviceClass: 0x104, at: [Self.third]))
      #expect(await scene.next() == .inquired(succeeded: true))
      #expect(scene.system.inquiries == [0, 1, 2])
      scene.system.inquiredOnly = [0: nil, 1: nil, 2: nil]
      try scene.send(.inquire(units: 2))
      #expect(await scene.next() == .inquired(succeeded: false))
    }
  }

  @Test func `A crowd near one adapter leaves room for the devices of the other`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      scene.system.present = Self.present
      scene.system.inquired = []
      scene.system.inquiredOnly[0] = (0..<1_000).map {
        InquiredDevice(BluetoothAddress(0x1000 + $0), deviceClass: 0x104)
      }
      scene.system.inquiredOnly[1] = Self.found(Scene.device, Self.other)
      _ = try await scene.serve()
      try scene.send(.inquire(units: 2))
      var seen: [BluetoothAddress] = []
      while case .seen(let device, _, let adapters)? = await scene.next() {
        seen.append(device)
        #expect(adapters == [device.value < 0x1000 ? Self.second : Self.first])
      }
      #expect(seen.count == 128 && seen.contains(Scene.device) && seen.contains(Self.other))
    }
  }

  @Test func `An inquiry that never ends is given up, and its adapter passed over until it has ended`() async throws {
    try await Scene.run { reactor in
      let system = FakeSystem()
      system.present = Self.present
      system.endless = [0]
      system.inquiredOnly = [0: Self.found(Self.other), 1: Self.found(Scene.device), 2: []]
      let inquiries = Inquiries(by: system, on: reactor, patience: .milliseconds(20))
      func inquire() async -> [SeenDevice]? {
        await withCheckedContinuation { waiting in
          inquiries.begin(on: system.present, units: 1) { waiting.resume(returning: $0) }
        }
      }
      let expected = SeenDevice(address: Scene.device, deviceClass: 0x104, adapters: [Self.second])
      let start = Reactor.now
      #expect(await inquire() == [expected])
      #expect(Reactor.now - start > 1_200_000_000)
      // While a round runs there is no other one.
      #expect(await inquire() == [expected])
      #expect(system.inquiries == [0, 1, 2, 1, 2] && system.stopped == [0, 0])
      system.endInquiries()
      system.endless = []
      #expect(await inquire()?.map(\.address) == [Self.other, Scene.device])
      withExtendedLifetime(inquiries) {}
    }
  }

  @Test func `Inquiries that are stopped once their time is over free their adapters for the next round`() async throws
  {
    try await Scene.run { reactor in
      let system = FakeSystem()
      system.present = Self.present
      system.endless = [0, 1]
      system.isStoppable = true
      system.inquired = Self.found(Scene.device)
      let inquiries = Inquiries(by: system, on: reactor, patience: .milliseconds(20))
      func inquire() async -> [SeenDevice]? {
        await withCheckedContinuation { waiting in
          inquiries.begin(on: system.present, units: 1) { waiting.resume(returning: $0) }
        }
      }
      #expect(await inquire()?.map(\.adapters) == [[Self.third]])
      #expect(system.stopped == [0, 1])
      system.endless = []
      #expect(await inquire()?.map(\.adapters) == [Self.adapters])
      #expect(system.stopped == [0, 1] && system.inquiries == [0, 1, 2, 0, 1, 2])
      withExtendedLifetime(inquiries) {}
    }
  }

  @Test func `A round of inquiries is the only one, and a result that comes too late is none`() async throws {
    try await Scene.run { reactor in
      let system = FakeSystem()
      system.present = Array(Self.present.prefix(2))
      system.endless = [0, 1]
      system.inquired = Self.found(Scene.device)
      let inquiries = Inquiries(by: system, on: reactor, patience: .milliseconds(20))
      var rounds: [[SeenDevice]?] = []
      inquiries.begin(on: system.present, units: 1) { rounds.append($0) }
      inquiries.begin(on: system.present, units: 1) { rounds.append($0) }
      #expect(rounds == [nil])
      // The first adapter is given up, and answers while the second one inquires.
      while system.inquiries.count < 2 { await pass(.milliseconds(50), on: reactor) }
      system.endInquiries()
      #expect(rounds.count == 2 && rounds.last??.map(\.adapters) == [[Self.second]])
      system.endInquiries()
      await pass(.milliseconds(50), on: reactor)
      #expect(rounds.count == 2 && system.inquiries == [0, 1])
      withExtendedLifetime(inquiries) {}
    }
  }

  @Test func `A search and a connection go from the adapter that the host names, and from no other`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      scene.system.present = Self.present
      scene.system.unreachable = [Self.first]
      scene.system.answer = { _ in Self.answer }
      _ = try await scene.serve()
      try scene.send(.search(Scene.device, from: Self.first))
      #expect(await scene.next() == .searched(Scene.device, from: Self.first, nil))
      try scene.send(.search(Scene.device, from: Self.second))
      #expect(await scene.next() == .searched(Scene.device, from: Self.second, [Scene.host]))
      try scene.send(.connect(ticket: 1, Scene.device, Scene.host, from: Self.first))
      #expect(await scene.next() == .failed(ticket: 1, code: EHOSTDOWN))
      try scene.send(.connect(ticket: 2, Scene.device, Scene.host, from: Self.second))
      #expect(await scene.next() == .connected(ticket: 2))
      #expect(scene.system.searchers == [Self.first, Self.second, Self.first, Self.second])
      #expect(scene.system.connecters == [Self.second])
    }
  }

  @Test func `A device may be searched from two adapters at a time, and once from each`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      scene.system.present = Self.present
      _ = try await scene.serve()
      for adapter in [Self.first, Self.first, Self.second] { try scene.send(.search(Scene.device, from: adapter)) }
      while scene.system.searchers.count < 2 { await pass(.milliseconds(10), on: reactor) }
      #expect(scene.system.searchers == [Self.first, Self.second])
      for device in scene.system.searched.reversed() { try device.descriptor.sendPacket(Self.answer) }
      var answered: Set<BluetoothReport?> = []
      for _ in 0..<2 { answered.insert(await scene.next()) }
      #expect(
        answered
          == Set([Self.first, Self.second].map { .searched(Scene.device, from: $0, [Scene.host]) }))
    }
  }

  @Test func `Nothing goes from an adapter that is absent, turned off or not the host's`() async throws {
    try await Scene.run { reactor in
      for name in [nil, "hci1"] {
        let scene = try Scene(overBusAt: "/nowhere", on: reactor)
        scene.system.present = [
          FakeSystem.adapter(0, address: Self.first.value), FakeSystem.adapter(1, address: Self.second.value),
          FakeSystem.adapter(2, address: Self.third.value, isUp: false),
        ]
        _ = try await scene.serve(adapter: name)
        var absent = [BluetoothAddress.any, BluetoothAddress(0xF), Self.third]
        if name != nil { absent.append(Self.first) }
        for adapter in absent {
          try scene.send(.search(Scene.device, from: adapter))
          #expect(await scene.next() == .searched(Scene.device, from: adapter, nil))
          try scene.send(.connect(ticket: 1, Scene.device, Scene.host, from: adapter))
          #expect(await scene.next() == .failed(ticket: 1, code: ENODEV))
        }
        #expect(scene.system.searchers.isEmpty && scene.system.connecters.isEmpty)
      }
    }
  }

  @Test func `A search and a connection go on while another adapter is pulled out`() async throws {
    let bus = try TestBus()
    try await Scene.run { reactor in
      let bluez = try await FakeBluez(bus.path, on: reactor)
      let scene = try Scene(overBusAt: bus.path, on: reactor)
      scene.system.present = Self.present
      _ = try await scene.serve()
      #expect(await scene.state(with: nil)?.addresses == Self.adapters)
      try scene.send(.search(Scene.device, from: Self.second))
      try scene.send(.connect(ticket: 1, Scene.device, Scene.host, from: Self.third))
      scene.system.present.removeFirst()
      try bluez.changeAdapter()
      #expect(await scene.state(with: nil)?.addresses == [Self.second, Self.third])
      #expect(scene.system.searchers == [Self.second, Self.third])
      try scene.system.searched[0].descriptor.sendPacket(Self.answer)
      #expect(await scene.next() == .searched(Scene.device, from: Self.second, [Scene.host]))
      try scene.system.searched[1].descriptor.sendPacket(Self.answer)
      #expect(await scene.next() == .connected(ticket: 1))
      // The socket for devices that connect has stayed.
      #expect(scene.system.listens == [.any])
    }
  }
}
