import DBus
import FakeRadio
import TestKit
import Testing

@testable import vicinity

/// The real program with its process for Bluetooth, beside a bluetoothd that is played by the test.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct BluetoothTests {
  private static let device = BusValue.objectPath(FakeBluetoothDaemon.device)

  private func withChat(
    _ options: [String], _ test: (FakeBluetoothDaemon, Program) async throws -> Void
  ) async throws {
    let bus = try TestBus()
    let manager = try await FakeBluetoothDaemon(bus)
    let chat = try Program(
      ["chat", "room", "--medium", "bluetooth", "--keys", "ephemeral", "--name", "Ada"] + options, in: "/tmp",
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(bus.path)"])
    do {
      try await test(manager, chat)
    } catch {
      await manager.close()
      throw error
    }
    await manager.close()
  }

  @Test func `P-NET-2 A device that wants to be paired is asked about by its number, and yes and no reach it`()
    async throws
  {
    try await withChat(["--json"]) { manager, chat in
      var answer = try await manager.begin("RequestConfirmation", [Self.device, .uint32(42_117)])
      let asked = try chat.line(#""event":"bluetoothPairing""#)
      #expect(asked.contains(#""device":"00:AA:01:00:00:42","name":"Anna's phone","code":"042117""#), "\(asked)")
      let number = try #require(asked.firstMatch(of: #/"number":(\d+)/#)).output.1
      chat.say("accept \(number)\n")
      #expect(try chat.line(#""event":"bluetoothPairingEnded""#).contains(#""end":"accepted""#))
      #expect(await answer.value == nil)
      answer = try await manager.begin("RequestConfirmation", [Self.device, .uint32(1)])
      #expect(try chat.line(#""event":"bluetoothPairing""#).contains(#""code":"000001""#))
      chat.say("decline\n")
      #expect(try chat.line(#""event":"bluetoothPairingEnded""#).contains(#""end":"declined""#))
      #expect(await answer.value == "org.bluez.Error.Rejected")
      chat.say("quit\n")
      #expect(try chat.ended() == 0)
    }
  }

  @Test func `People read which device it is, what to compare and how to answer`() async throws {
    try await withChat([]) { manager, chat in
      let answer = try await manager.begin("RequestConfirmation", [Self.device, .uint32(7)])
      _ = try chat.line("the Bluetooth device Anna's phone (00:AA:01:00:00:42) wants to be paired with this machine")
      let question = try chat.line("does it show the number 000007?")
      #expect(question.contains("/accept 1") && question.contains("/decline 1"))
      // Another question may have ended as this one came.
      chat.say("/accept\n")
      _ = try chat.line("then say '/accept 1'", on: 1)
      _ = try await manager.ask("Cancel")
      _ = try chat.line("does not want to be paired any more")
      #expect(await answer.value == "org.bluez.Error.Rejected")
      chat.say("/accept\n")
      _ = try chat.line("nothing to accept", on: 1)
    }
  }
}
