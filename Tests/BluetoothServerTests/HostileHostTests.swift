import BluetoothProtocol
import Reactor
import TestKit
import Testing

@testable import BluetoothServer

/// A host that breaks the rules of its connection with the process.
@Suite(.timeLimit(.minutes(1))) struct HostileHostTests {
  private static let packets: [[UInt8]] = [
    [], [0], [9, 9], BluetoothCommand.search(Scene.device, from: Scene.adapter).bytes + [0],
    BluetoothCommand.serve(Scene.host, adapter: nil).bytes.dropLast(), [UInt8](repeating: 2, count: 65),
    [UInt8](repeating: 1, count: 4_096),
  ]

  @Test(arguments: packets) func `An invalid command ends the process, and no command after it is done`(
    _ packet: [UInt8]
  ) async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      try scene.send(packet)
      try scene.send(.inquire(units: 1))
      while let report = await scene.next() {
        if case .inquired = report { Issue.record("it was done") }
      }
      #expect(scene.hasEnded)
    }
  }

  @Test func `Commands before the host has named itself, and a second name, do nothing`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      try scene.send(.inquire(units: 1))
      #expect(await scene.next() == .inquired(succeeded: false))
      try scene.send(.search(Scene.device, from: Scene.adapter))
      #expect(await scene.next() == .searched(Scene.device, from: Scene.adapter, nil))
      try scene.send(.cancel(ticket: 4))
      _ = try await scene.serve()
      try scene.send(.serve(Scene.host, adapter: "hci7"))
      try scene.send(.inquire(units: 1))
      #expect(await scene.next() == .inquired(succeeded: true))
      #expect(scene.system.listens == [.any])
    }
  }

  @Test func `A host that commands and does not read ends its process`() async throws {
    try await Scene.run { reactor in
      let scene = try Scene(overBusAt: "/nowhere", on: reactor)
      _ = try await scene.serve()
      scene.stopReading()
      for _ in 0..<2_000 where !scene.hasEnded {
        try? scene.send(.inquire(units: 1))
        await pass(.zero, on: reactor)
      }
      #expect(scene.hasEnded)
    }
  }
}
