package import DBus
package import Reactor
package import TestKit

/// wpa_supplicant as its D-Bus interface shows it, with one radio; on a loop and a bus of its own.
package final class FakeSupplicant: Sendable {
  package let reactor: Reactor
  private let model: FakeSupplicantModel

  package init(_ bus: TestBus, radio: String) async throws {
    let reactor = try Reactor()
    reactor.start()
    self.reactor = reactor
    model = try await reactor.spawn { [path = bus.path] in
      Result { FakeSupplicantModel(try BusConnection(path, on: reactor), radio: radio) }
    }.value.get()
    try await own(FakeSupplicantModel.service)
  }

  /// With the radio of a machine, until the body ends.
  package static func with(_ machine: RadioMachine, _ body: (FakeSupplicant) async throws -> Void) async throws {
    let fake = try await FakeSupplicant(machine.bus, radio: machine.radio)
    do { try await body(fake) } catch {
      await fake.close()
      throw error
    }
    await fake.close()
  }

  /// Runs a closure on the loop.
  package func run<Value: Sendable>(_ body: @escaping @Sendable (FakeSupplicantModel) -> Value) async -> Value {
    await reactor.spawn { [model] in body(model) }.value
  }

  package func change(_ body: @escaping @Sendable (FakeSupplicantModel) -> Void) async { await run(body) }

  private func own(_ name: String) async throws {
    let daemon = "org.freedesktop.DBus"
    let answer = await reactor.spawn { [model] in
      try? await model.bus.call(daemon, "/org/freedesktop/DBus", daemon, "RequestName", [.string(name), .uint32(0)])
    }.value
    guard answer == [.uint32(1)] else { throw BusError("taken", name) }
  }

  package func close() async {
    await run { $0.bus.close() }
    reactor.stop()
  }

  package var calls: [String] { get async { await run { $0.calls } } }
  package var hasGroup: Bool { get async { await run { $0.groupName != nil } } }
  package var hasMesh: Bool { get async { await run { $0.meshOptions != nil } } }
  package var postfix: String { get async { await run { $0.postfix } } }

  /// A network that somebody else, or a killed program, has made.
  package func leave(group: String) async { await run { ($0.isTaken, $0.groupName) = (true, group) } }

  package func leaveMesh(mark: String) async {
    await run { model in
      (model.isTaken, model.state) = (true, "completed")
      model.meshOptions = ["ssid": .string("old"), "mode": .int32(5), "id_str": .string(mark)]
    }
  }

  package func endGroup() async { await run { $0.endGroup() } }

  /// Exports a NetworkManager that manages the radio, or does not.
  package func manage(_ isManaged: Bool) async throws {
    await run { model in
      model.bus.export("/org/freedesktop/NetworkManager") { $0.reply([.objectPath("/device")]) }
      model.bus.export("/device") { $0.reply([.variant(.boolean(isManaged))]) }
    }
    try await own("org.freedesktop.NetworkManager")
  }
}

/// The state of it, and its objects on the bus.
///
/// It is made and used on the loop alone, which is the proof of `@unchecked`.
package final class FakeSupplicantModel: @unchecked Sendable {
  static let service = "fi.w1.wpa_supplicant1"
  private static let root = "/fi/w1/wpa_supplicant1"
  private static let radioPath = "\(root)/Interfaces/0"
  private static let groupPath = "\(root)/Interfaces/1"
  private static let group = "\(groupPath)/Groups/AB"
  private static let mesh = "\(radioPath)/Networks/7"
  private static let home = "\(radioPath)/Networks/0"

  let bus: BusConnection
  private let radio: String
  var isTaken = false
  var postfix = ""
  var groupName: String?
  var meshOptions: [String: BusValue]?
  private var isHomeEnabled = true
  /// Methods that were called, in order, without those that only read.
  private(set) var calls: [String] = []

  // Set by tests.
  package var state = "disconnected"
  package var modes = ["infrastructure", "p2p", "mesh"]
  package var refusal: BusError?
  /// Whether it begins nothing.
  package var isDeaf = false
  /// The hardware addresses of devices that are in its group, and of those that have not shown the password.
  package var stations: [[UInt8]] = [[2, 0, 0, 0, 1, 0]] {
    didSet {
      for station in oldValue { bus.withdraw(Self.path(of: station)) }
      exportStations()
    }
  }
  package var strangers: [[UInt8]] = []
  /// Whether it is an old one that does not tell of them.
  package var isOld = false
  /// The name of the interface of its group.
  package var groupInterface: String
  /// Answers of this kind in place of true ones.
  package var nonsense: BusValue?

  init(_ bus: BusConnection, radio: String) {
    self.bus = bus
    self.radio = radio
    groupInterface = "p2p-\(radio)-0"
    for path in [Self.root, Self.radioPath, Self.groupPath, Self.group, Self.mesh, Self.home] {
      bus.export(path) { [unowned self] in answer($0, at: path) }
    }
    exportStations()
  }

  private func exportStations() {
    for path in stations.map(Self.path) { bus.export(path) { [unowned self] in answer($0, at: path) } }
  }

  private static func path(of station: [UInt8]) -> String {
    "\(groupPath)/Stations/" + station.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  func endGroup() {
    groupName = nil
    signal("P2PDevice", "GroupFinished")
  }

  // MARK: Objects

  private func answer(_ call: BusInvocation, at path: String) {
    if let refusal { return call.refuse(refusal) }
    let about: String = if case .string(let name)? = call.arguments.first { name } else { "" }
    switch call.member {
    case "GetAll": call.reply([nonsense ?? .properties(properties(of: path, about))])
    case "Get":
      guard call.arguments.count == 2, case .string(let name) = call.arguments[1] else { return }
      call.reply([nonsense ?? .variant(property(name, of: path))])
    default:
      calls.append(call.member)
      perform(call, at: path)
    }
  }

  private func perform(_ call: BusInvocation, at path: String) {
    let options = call.arguments.last?.properties ?? [:]
    switch call.member {
    case "CreateInterface":
      isTaken = true
      call.reply([.objectPath(Self.radioPath)])
    case "RemoveInterface":
      isTaken = false
      call.reply()
    case "Set":
      if case .variant(let value)? = call.arguments.last {
        if case .string(let text)? = value.properties?["SsidPostfix"] { postfix = text }
        if path == Self.home, case .boolean(let isEnabled) = value { isHomeEnabled = isEnabled }
      }
      call.reply()
    case "GroupAdd":
      call.reply()
      if isDeaf { return }
      groupName = "DIRECT-AB\(postfix)"
      signal("P2PDevice", "GroupStarted")
    case "Disconnect":
      guard path == Self.groupPath else {
        return call.refuse(BusError("\(Self.service).UnknownError", "no group"))
      }
      call.reply()
      endGroup()
    case "AddNetwork":
      meshOptions = options
      call.reply([.objectPath(Self.mesh)])
    case "SelectNetwork":
      isHomeEnabled = false
      call.reply()
      if isDeaf { return }
      state = "completed"
      signal("Mesh", "MeshGroupStarted")
    case "RemoveNetwork":
      (meshOptions, state) = (nil, "disconnected")
      call.reply()
      signal("Mesh", "MeshGroupRemoved")
    default: call.refuse(BusError("org.freedesktop.DBus.Error.UnknownMethod", call.member))
    }
  }

  private func signal(_ part: String, _ name: String) {
    try? bus.emit(Self.radioPath, "\(Self.service).Interface.\(part)", name, [.properties([:])])
  }

  private func property(_ name: String, of path: String) -> BusValue {
    switch name {
    case "Address": .array(of: "y", (stations.first { Self.path(of: $0) == path } ?? []).map(BusValue.byte))
    case "Interfaces":
      .array(
        of: "o",
        (groupName == nil ? [] : [.objectPath(Self.groupPath)]) + (isTaken ? [.objectPath(Self.radioPath)] : []))
    case "P2PDeviceConfig": .properties(["SsidPostfix": .string(postfix), "GOIntent": .uint32(7)])
    case "Enabled": .boolean(isHomeEnabled)
    // It shows all options as texts.
    default:
      .properties(
        (meshOptions ?? [:]).mapValues { value in
          switch value {
          case .string(let text): .string("\"\(text)\"")
          case .int32(let number): .string("\(number)")
          default: value
          }
        })
    }
  }

  private func properties(of path: String, _ interface: String) -> [String: BusValue] {
    let isGroup = path == Self.groupPath
    switch interface.split(separator: ".").last {
    case "Interface":
      var properties: [String: BusValue] = [
        "Ifname": .string(isGroup ? groupInterface : radio), "State": .string(isGroup ? "completed" : state),
        "Capabilities": .properties(["Modes": .array(of: "s", modes.map(BusValue.string))]),
        "CurrentNetwork": .objectPath(isGroup ? "/" : meshOptions != nil ? Self.mesh : Self.home),
        "Networks": .array(of: "o", isGroup ? [] : [.objectPath(Self.home)]),
      ]
      if !isOld {
        let paths = isGroup ? (strangers + stations).map { BusValue.objectPath(Self.path(of: $0)) } : []
        properties["Stations"] = .array(of: "o", paths)
      }
      return properties
    case "P2PDevice":
      return isGroup && groupName != nil
        ? ["Role": .string("GO"), "Group": .objectPath(Self.group)]
        : ["Role": .string("device"), "Group": .objectPath("/")]
    case "Group":
      return [
        "SSID": .array(of: "y", (groupName ?? "").utf8.map(BusValue.byte)), "Passphrase": .string("sou;p is:ready"),
        "Frequency": .uint16(2437),
        // Devices that join as plain Wi-Fi have no address of Wi-Fi Direct, by which members are known.
        "Members": .array(
          of: "o", (strangers + stations).map { _ in .objectPath("\(Self.radioPath)/Peers/000000000000") }),
      ]
    case "Mesh": return ["MeshPeers": .array(of: "ay", [.array(of: "y", [2, 0, 0, 0, 2, 0].map(BusValue.byte))])]
    default: return [:]
    }
  }
}
