package import DBus
internal import Reactor
package import TestKit

/// bluetoothd as far as agents see it: they register, and it asks them about one device; on a loop and a bus of its own.
package final class FakeBluetoothDaemon: Sendable {
  /// An agent, by the connection that has registered it.
  package struct Agent: Hashable, Sendable {
    package let owner: String
    package let path: String
    package let capability: String
  }

  package struct Failure: Error {}

  package static let service = "org.bluez"
  /// The object of the device with the address 00:AA:01:00:00:42.
  package static let device = "/org/bluez/hci0/dev_00_AA_01_00_00_42"

  private let reactor: Reactor
  private let model: Model

  package init(_ bus: TestBus, deviceNamed name: String = "Anna's phone") async throws {
    let reactor = try Reactor()
    reactor.start()
    self.reactor = reactor
    model = try await reactor.spawn { [path = bus.path] in
      Result {
        Model(
          try BusConnection(path, on: reactor), stranger: try BusConnection(path, on: reactor), deviceNamed: name)
      }
    }.value.get()
    try await call("RequestName", [.string(Self.service), .uint32(0)])
  }

  /// Ends, as bluetoothd does: its agents are not told.
  package func close() async {
    await reactor.spawn { [model] in
      model.bus.close()
      model.stranger.close()
    }.value
    reactor.stop()
  }

  /// Gives its name up and takes it again, as one that is started anew.
  package func restart() async throws {
    await reactor.spawn { [model] in model.agents = [] }.value
    try await call("ReleaseName", [.string(Self.service)])
    try await call("RequestName", [.string(Self.service), .uint32(0)])
  }

  private func call(_ member: String, _ arguments: [BusValue]) async throws {
    let daemon = "org.freedesktop.DBus"
    let answer = await reactor.spawn { [model] in
      try? await model.bus.call(daemon, "/org/freedesktop/DBus", daemon, member, arguments)
    }.value
    guard answer == [.uint32(1)] else { throw Failure() }
  }

  /// The methods of `AgentManager1` that were called, in order.
  package var calls: [String] { get async { await reactor.spawn { [model] in model.calls }.value } }

  /// The latest agent, once there is one.
  package var agent: Agent {
    get async throws {
      let deadline = ContinuousClock.now + .seconds(20)
      while true {
        let isLast = ContinuousClock.now > deadline
        if let agent = await reactor.spawn({ [model] in model.agents.last }).value { return agent }
        // Between two looks the other tests may have had every thread for longer than that: the last look comes after it.
        if isLast { throw Failure() }
        await Task.yield()
      }
    }
  }

  /// Calls a method of the agent, as bluetoothd or as somebody else on the bus. Nil for a reply, else the error's name.
  package func ask(_ member: String, _ arguments: [BusValue] = [], asStranger isStranger: Bool = false) async throws
    -> String?
  {
    try await begin(member, arguments, asStranger: isStranger).value
  }

  /// The same, and does not wait for the answer.
  package func begin(_ member: String, _ arguments: [BusValue] = [], asStranger isStranger: Bool = false) async throws
    -> Task<String?, Never>
  {
    let agent = try await agent
    return reactor.spawn { [model] in
      do throws(BusError) {
        _ = try await (isStranger ? model.stranger : model.bus).call(
          agent.owner, agent.path, "org.bluez.Agent1", member, arguments, within: .seconds(60))
        return nil
      } catch {
        return error.name
      }
    }
  }

  /// It is made and used on the loop alone, which is the proof of `@unchecked`.
  private final class Model: @unchecked Sendable {
    let bus: BusConnection
    let stranger: BusConnection
    var agents: [Agent] = []
    var calls: [String] = []

    init(_ bus: BusConnection, stranger: BusConnection, deviceNamed name: String) {
      (self.bus, self.stranger) = (bus, stranger)
      bus.export(FakeBluetoothDaemon.device) { $0.reply([.variant(.string(name))]) }
      bus.export("/org/bluez") { [unowned self] call in
        if call.interface == "org.bluez.AgentManager1" { calls.append(call.member) }
        if call.member == "RegisterAgent", case .objectPath(let path)? = call.arguments.first,
          case .string(let capability)? = call.arguments.last
        {
          agents.append(Agent(owner: call.sender, path: path, capability: capability))
        }
        call.reply()
      }
    }
  }
}
