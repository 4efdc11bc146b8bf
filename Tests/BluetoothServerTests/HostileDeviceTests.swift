import BluetoothProtocol
import Glibc
import Reactor
import TestKit
import Testing
import Wire

@testable import BluetoothServer

/// Devices that say nothing, too much or something else, and crowds of them.
@Suite(.timeLimit(.minutes(1))) struct HostileDeviceTests {
  private static let record = HostRecord(Scene.host, channel: 9)

  /// A search of a device that the body plays, with the end of a packet socket. Returns the result, if there is one.
  private func search(
    within time: Duration = .seconds(20),
    _ body: @escaping @Sendable (Reactor, FakeSystem.Socket) async throws -> Void
  ) async throws -> [HostRecord]?? {
    let found = Box<[HostRecord]??>(nil)
    try await Scene.run { reactor in
      let system = FakeSystem()
      var result: [HostRecord]??
      var waiting: CheckedContinuation<Void, Never>?
      let search = HostSearch(of: Scene.device, from: .any, by: system, on: reactor, within: time) { records in
        #expect(result == nil, "it is called once")
        result = .some(records)
        waiting?.resume()
        waiting = nil
      }
      await pass(.milliseconds(1), on: reactor)
      try await body(reactor, try #require(system.searched.first))
      if result == nil { await withCheckedContinuation { waiting = $0 } }
      found.value = result
      withExtendedLifetime(search) {}
    }
    return found.value
  }

  // `@unchecked`: it is read once the loop has ended, which alone writes it.
  private final class Box<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
  }

  @Test func `A device that takes the request and answers is searched`() async throws {
    let found = try await search { _, device in
      guard let packet = try device.descriptor.receivePacket(bytesMax: 672) else { throw SystemError("none", code: 0) }
      #expect(packet.bytes == ServiceSearch().request)
      try device.descriptor.sendPacket(SDP.answer(SDP.lists([Self.record])))
    }
    #expect(found == .some([Self.record]))
  }

  @Test func `A device that is silent, or has sent a part, is given up by time`() async throws {
    #expect(try await search(within: .milliseconds(100)) { _, _ in } == .some(nil))
    let part = try await search(within: .milliseconds(100)) { _, device in
      try device.descriptor.sendPacket(SDP.answer([0x36, 1], continuing: [1]))
    }
    #expect(part == .some(nil))
  }

  @Test func `A device that closes, or sends too long a packet or too many, is given up`() async throws {
    #expect(try await search { _, device in device.descriptor.cut() } == .some(nil))
    let long = try await search { _, device in
      try device.descriptor.sendPacket(SDP.answer([UInt8](repeating: 0, count: 700)))
    }
    #expect(long == .some(nil))
    let endless = try await search { reactor, device in
      for number in 0... {
        let answer = SDP.answer([UInt8](repeating: 0, count: 600), to: UInt16(number), continuing: [1])
        guard number < 1_000, (try? device.descriptor.sendPacket(answer)) != nil else { break }
        await pass(.milliseconds(1), on: reactor)
        #expect(number <= ServiceSearch.packetsMax + 1)
      }
    }
    #expect(endless == .some(nil))
  }

  /// BlueZ's library never returns from this answer.
  @Test func `An answer that ends within the head of a sequence is read, and others after it`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      let other = BluetoothAddress(0xE)
      scene.system.answer = { device in
        device == other
          ? SDP.answer(SDP.lists([Self.record])) : SDP.answer([0x35, 8, 0x35, 6, 9, 0, 4, 0x35, 1, 0x35])
      }
      try scene.send(.search(Scene.device, from: Scene.adapter))
      #expect(await scene.next() == .searched(Scene.device, from: Scene.adapter, []))
      try scene.send(.search(other, from: Scene.adapter))
      #expect(await scene.next() == .searched(other, from: Scene.adapter, [Scene.host]))
    }
  }

  @Test func `Searches of three hundred silent devices are bounded, and other work goes on`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      var (refused, failed): (Int, Int) = (0, 0)
      for number in 1...300 as ClosedRange<UInt64> {
        let device = BluetoothAddress(number)
        try scene.send(.search(device, from: Scene.adapter))
        try scene.send(.connect(ticket: number, device, Scene.host, from: Scene.adapter))
        // They are read before the next.
        await pass(.zero, on: reactor)
      }
      while refused < 296 || failed < 284 {
        switch await scene.next() {
        case .searched(_, from: Scene.adapter, nil): refused += 1
        case .failed(_, EBUSY): failed += 1
        case let other:
          Issue.record("\(String(describing: other))")
          return
        }
      }
      #expect(scene.system.searched.count == 4 + 16)
      try scene.send(.inquire(units: 1))
      #expect(await scene.next() == .inquired(succeeded: true))
      let device = try scene.system.arrive()
      #expect(await scene.next() == .accepted(BluetoothAddress(0x101), at: Scene.adapter))
      // A place that is free again is used.
      try scene.send(.cancel(ticket: 1))
      scene.system.answer = { _ in SDP.answer(SDP.lists([Self.record])) }
      try scene.send(.connect(ticket: 301, Scene.device, Scene.host, from: Scene.adapter))
      #expect(await scene.next() == .connected(ticket: 301))
      #expect(!scene.hasEnded)
      withExtendedLifetime(device.number) {}
    }
  }

  @Test func `Three hundred silent devices that connect are handed over, and nothing of them stays`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      var devices: [FakeSystem.Socket] = []
      for number in 1...300 as ClosedRange<UInt64> {
        devices.append(FakeSystem.Socket(try scene.system.arrive()))
        #expect(await scene.next() == .accepted(BluetoothAddress(0x100 + number), at: Scene.adapter))
      }
      #expect(scene.sockets == 300)
      // The test has closed what it got, so that a device is at the end of its connection.
      var byte: UInt8 = 0
      for device in devices { #expect(recv(device.descriptor.number, &byte, 1, CInt(MSG_DONTWAIT)) == 0) }
    }
  }

  @Test func `An inquiry on many adapters in a crowd reports as much as the connection holds`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      let crowd = (0..<1_024).map { InquiredDevice(BluetoothAddress($0), deviceClass: 0x104) }
      scene.system.present = (0..<5).map { FakeSystem.adapter($0, address: UInt64($0) + 0xA) }
      scene.system.inquired = crowd + crowd
      _ = try await scene.serve()
      for _ in 0..<3 {
        try scene.send(.inquire(units: 8))
        var seen: [BluetoothAddress] = []
        while case .seen(let device, deviceClass: 0x104, let adapters)? = await scene.next() {
          seen.append(device)
          #expect(adapters == (0xA...0xD).map { BluetoothAddress($0) })
        }
        #expect(!scene.hasEnded)
        #expect(seen.count == 128 && Set(seen).count == 128)
      }
    }
  }

  @Test func `A connection has its socket, or the reason why not`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      scene.system.answer = { device in
        device == Scene.device ? SDP.answer(SDP.lists([Self.record])) : SDP.answer([0x35])
      }
      try scene.send(.connect(ticket: 1, Scene.device, Scene.host, from: Scene.adapter))
      #expect(await scene.next() == .connected(ticket: 1))
      try scene.send(.connect(ticket: 2, Scene.device, HostID(ID128(high: 0, low: 0)), from: Scene.adapter))
      #expect(await scene.next() == .failed(ticket: 2, code: ENOENT))
      scene.system.answer = { _ in [1, 0, 0, 0, 2, 0, 3] }
      try scene.send(.connect(ticket: 3, Scene.device, Scene.host, from: Scene.adapter))
      #expect(await scene.next() == .failed(ticket: 3, code: EHOSTDOWN))
      #expect(scene.sockets == 1)
    }
  }
}
