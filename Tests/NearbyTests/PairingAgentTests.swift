import BluetoothProtocol
import BuiltProgram
import DBus
import FakeRadio
import Glibc
import Reactor
import TestKit
import Testing
import Wire

/// The agent of `vicinity-bluetooth`, which runs in a process of its own beside a bluetoothd that is played by the test.
@Suite(.timeLimit(.minutes(2))) struct PairingAgentTests {
  private static let host = HostID(ID128(high: 0x0102_0304_0506_0708, low: 0xF1F2_F3F4_F5F6_F7F8))
  private static let device = BluetoothAddress(0x00AA_0100_0042)
  private static let rejected = "org.bluez.Error.Rejected"
  private static let object = BusValue.objectPath(FakeBluetoothDaemon.device)

  /// The program with a bus, and this test as its host.
  private final class AgentProgram {
    struct Silence: Error {}

    private let socket: Descriptor
    private let process: pid_t

    init(on bus: TestBus) throws {
      let path = try BuiltProgram.besideTests("vicinity-bluetooth")
      let pair = try Descriptor.packetPair()
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, pair.theirs.number, 3)
      let words = [strdup(path), nil]
      let environment = [strdup("DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(bus.path)"), nil]
      defer { for text in words + environment { free(text) } }
      var process: pid_t = 0
      guard posix_spawn(&process, path, &actions, nil, words, environment) == 0 else { throw Silence() }
      self.process = process
      socket = try pair.ours.duplicate()
      try send(.serve(PairingAgentTests.host, adapter: nil))
    }

    deinit {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }

    func send(_ command: BluetoothCommand) throws { try socket.sendPacket(command.bytes) }

    /// The next report about pairing; nil where none comes within some milliseconds.
    func report(within milliseconds: CInt = 40_000) throws -> BluetoothReport? {
      while true {
        if let packet = try socket.receivePacket(bytesMax: BluetoothReport.bytesMax) {
          guard let report = BluetoothReport(packet.bytes) else { throw Silence() }
          switch report {
          case .pairingAsked, .pairingEnded: return report
          default: continue
          }
        }
        var wait = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        if poll(&wait, 1, milliseconds) == 0 { return nil }
      }
    }

    /// Records an issue where something is reported.
    func staySilent() throws { if let report = try report(within: 200) { Issue.record("\(report)") } }

    func question() throws -> PairingQuestion {
      guard case .pairingAsked(let question)? = try report() else { throw Silence() }
      return question
    }
  }

  private func withAgent(
    deviceNamed name: String = "Anna's phone", _ test: (FakeBluetoothDaemon, AgentProgram) async throws -> Void
  ) async throws {
    let bus = try TestBus()
    let manager = try await FakeBluetoothDaemon(bus, deviceNamed: name)
    let helper = try AgentProgram(on: bus)
    do {
      try await test(manager, helper)
    } catch {
      await manager.close()
      throw error
    }
    await manager.close()
    withExtendedLifetime(helper) {}
  }

  @Test func `A number is asked about with the device's name, and yes lets it in`() async throws {
    try await withAgent { manager, helper in
      let answer = try await manager.begin("RequestConfirmation", [Self.object, .uint32(42_117)])
      let question = try helper.question()
      let timeLeft = Duration.milliseconds(question.millisecondsLeft)
      #expect(timeLeft > .zero && timeLeft <= PairingQuestion.timeMax)
      #expect(
        question
          == PairingQuestion(id: 1, device: Self.device, name: "Anna's phone", number: 42_117, timeLeft: timeLeft))
      try helper.send(.answerPairing(id: question.id, isAccepted: true))
      #expect(try helper.report() == .pairingEnded(id: 1, .accepted))
      #expect(await answer.value == nil)
    }
  }

  @Test func `No refuses it, and an answer to another question changes nothing`() async throws {
    try await withAgent { manager, helper in
      let answer = try await manager.begin("RequestConfirmation", [Self.object, .uint32(0)])
      let question = try helper.question()
      try helper.send(.answerPairing(id: question.id + 1, isAccepted: true))
      try helper.staySilent()
      try helper.send(.answerPairing(id: question.id, isAccepted: false))
      #expect(try helper.report() == .pairingEnded(id: question.id, .declined))
      #expect(await answer.value == Self.rejected)
    }
  }

  @Test func `Nobody's answer is a no, before the other device gives up`() async throws {
    try await withAgent { manager, helper in
      let answer = try await manager.begin("RequestConfirmation", [Self.object, .uint32(1)])
      let question = try helper.question()
      let began = ContinuousClock.now
      #expect(try helper.report() == .pairingEnded(id: question.id, .timedOut))
      #expect(ContinuousClock.now - began < .seconds(29))
      #expect(await answer.value == Self.rejected)
    }
  }

  @Test func `The agent shows numbers, and never takes the place of another one`() async throws {
    try await withAgent { manager, helper in
      let agent = try await manager.agent
      #expect(agent.capability == "DisplayYesNo")
      // bluetoothd that is started anew knows it again.
      try await manager.restart()
      #expect(try await manager.agent.path == agent.path)
      #expect(await manager.calls == ["RegisterAgent", "RegisterAgent"])
    }
  }

  @Test(arguments: ["Cancel", "Release"]) func `A question ends where bluetoothd takes it back`(
    _ member: String
  ) async throws {
    try await withAgent { manager, helper in
      let answer = try await manager.begin("RequestConfirmation", [Self.object, .uint32(1)])
      let question = try helper.question()
      #expect(try await manager.ask(member) == nil)
      #expect(try helper.report() == .pairingEnded(id: question.id, .cancelled))
      #expect(await answer.value == Self.rejected)
    }
  }

  @Test func `A device without hosts and numbers is asked about, too`() async throws {
    // The name that bluetoothd makes up for a device without one.
    try await withAgent(deviceNamed: "00-AA-01-00-00-42") { manager, helper in
      let began = ContinuousClock.now
      let answer = try await manager.begin("RequestAuthorization", [Self.object])
      let question = try helper.question()
      #expect(question.number == nil && question.name == "" && question.device == Self.device)
      // To find out that it has no hosts takes some of its time.
      let left = Duration.milliseconds(question.millisecondsLeft)
      #expect(left < PairingQuestion.timeMax && left >= PairingQuestion.timeMax - (.now - began) - .milliseconds(1))
      try helper.send(.answerPairing(id: question.id, isAccepted: true))
      #expect(await answer.value == nil)
    }
  }

  @Test func `Devices use the host's service only`() async throws {
    try await withAgent { manager, helper in
      for service in ["d30a9c51-6b1e-4f0c-8e27-5a9f44b071e8", "01020304-0506-0708-F1F2-F3F4F5F6F7F8"] {
        #expect(try await manager.ask("AuthorizeService", [Self.object, .string(service)]) == nil)
      }
      for service in ["00001124-0000-1000-8000-00805f9b34fb", "", "d30a9c51"] {
        #expect(try await manager.ask("AuthorizeService", [Self.object, .string(service)]) == Self.rejected)
      }
      try helper.staySilent()
    }
  }

  @Test func `All other questions are refused, and nobody is told`() async throws {
    try await withAgent { manager, helper in
      for (member, arguments) in [
        ("RequestPinCode", [Self.object]), ("RequestPasskey", [Self.object]),
        ("DisplayPasskey", [Self.object, .uint32(1), .uint16(0)]), ("DisplayPinCode", [Self.object, .string("1")]),
        ("RequestConfirmation", [Self.object, .uint32(1_000_000)]), ("RequestConfirmation", [Self.object]),
        ("RequestConfirmation", [.string("x"), .uint32(1)]), ("RequestConfirmation", []),
        ("RequestConfirmation", [.objectPath("/org/bluez/hci0"), .uint32(1)]),
        ("RequestConfirmation", [.objectPath("/org/bluez/hci0/dev_0G_AA_01_00_00_42"), .uint32(1)]),
        ("RequestConfirmation", [.objectPath("/org/bluez/hci0/dev_00_AA_01_00_00"), .uint32(1)]),
        ("RequestAuthorization", [.objectPath("/")]), ("AuthorizeService", [Self.object]), ("Eat", []),
      ] as [(String, [BusValue])] {
        #expect(try await manager.ask(member, arguments) == Self.rejected, "\(member) \(arguments)")
      }
      try helper.staySilent()
    }
  }

  @Test func `Only bluetoothd may ask`() async throws {
    try await withAgent { manager, helper in
      let arguments: [BusValue] = [Self.object, .uint32(1)]
      #expect(try await manager.ask("RequestConfirmation", arguments, asStranger: true) == Self.rejected)
      let service = [Self.object, .string("d30a9c51-6b1e-4f0c-8e27-5a9f44b071e8")]
      #expect(try await manager.ask("AuthorizeService", service, asStranger: true) == Self.rejected)
      try helper.staySilent()
    }
  }

  @Test func `A device that asks again and again is refused without a question, and others are not`() async throws {
    try await withAgent { manager, helper in
      for _ in 0..<3 {
        let answer = try await manager.begin("RequestConfirmation", [Self.object, .uint32(1)])
        try helper.send(.answerPairing(id: try helper.question().id, isAccepted: false))
        guard case .pairingEnded(_, .declined)? = try helper.report() else { throw AgentProgram.Silence() }
        #expect(await answer.value == Self.rejected)
      }
      #expect(try await manager.ask("RequestConfirmation", [Self.object, .uint32(1)]) == Self.rejected)
      try helper.staySilent()
      // A flood of addresses ends it for all, for a minute.
      for last in 1...5 {
        let other = BusValue.objectPath("/org/bluez/hci0/dev_00_AA_01_00_01_0\(last)")
        let answer = try await manager.begin("RequestConfirmation", [other, .uint32(1)])
        try helper.send(.answerPairing(id: try helper.question().id, isAccepted: false))
        _ = try helper.report()
        #expect(await answer.value == Self.rejected)
      }
      let last = BusValue.objectPath("/org/bluez/hci0/dev_00_AA_01_00_01_09")
      #expect(try await manager.ask("RequestConfirmation", [last, .uint32(1)]) == Self.rejected)
      try helper.staySilent()
    }
  }
}
