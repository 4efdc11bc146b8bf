import DBus
import Reactor
import TestKit

@testable import Nearby

/// wpa_supplicant as its D-Bus interface shows it, with one radio; on a loop and a bus of its own.
final class FakeSupplicant: Sendable {
  let reactor: Reactor
  private let model: FakeSupplicantModel

  init(_ bus: TestBus, radio: String) async throws {
    let reactor = try Reactor()
    reactor.start()
    self.reactor = reactor
    model = try await reactor.spawn { [path = bus.path] in
      Result { FakeSupplicantModel(try BusConnection(path, on: reactor), radio: radio) }
    }.value.get()
    try await own(FakeSupplicantModel.service)
  }

  /// Runs a closure on the loop.
  func run<Value: Sendable>(_ body: @escaping @Sendable (FakeSupplicantModel) -> Value) async -> Value {
    await reactor.spawn { [model] in body(model) }.value
  }

  func change(_ body: @escaping @Sendable (FakeSupplicantModel) -> Void) async { await run(body) }

  private func own(_ name: String) async throws {
    let daemon = "org.freedesktop.DBus"
    let answer = await reactor.spawn { [model] in
      try? await model.bus.call(daemon, "/org/freedesktop/DBus", daemon, "RequestName", [.string(name), .uint32(0)])
    }.value
    guard answer == [.uint32(1)] else { throw BusError("taken", name) }
  }

  func close() async {
    await run { $0.bus.close() }
    reactor.stop()
  }

  var calls: [String] { get async { await run { $0.calls } } }
  var hasGroup: Bool { get async { await run { $0.groupName != nil } } }
  var hasMesh: Bool { get async { await run { $0.meshOptions != nil } } }
  var postfix: String { get async { await run { $0.postfix } } }

  /// A network that somebody else, or a killed program, has made.
  func leave(group: String) async { await run { ($0.isTaken, $0.groupName) = (true, group) } }

  func leaveMesh(mark: String) async {
    await run { model in
      (model.isTaken, model.state) = (true, "completed")
      model.meshOptions = ["ssid": .string("old"), "mode": .int32(5), "id_str": .string(mark)]
    }
  }

  func endGroup() async { await run { $0.endGroup() } }

  /// Exports a NetworkManager that manages the radio, or does not.
  func manage(_ isManaged: Bool) async throws {
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
final class FakeSupplicantModel: @unchecked Sendable {
  static let service = "fi.w1.wpa_supplicant1"
  private static let root = "/fi/w1/wpa_supplicant1"
  private static let radioPath = "\(root)/Interfaces/0"
  private static let groupInterface = "\(root)/Interfaces/1"
  private static let group = "\(groupInterface)/Groups/AB"
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
  var state = "disconnected"
  var modes = ["infrastructure", "p2p", "mesh"]
  var refusal: BusError?
  /// Whether it begins nothing.
  var isDeaf = false
  /// Answers of this kind in place of true ones.
  var nonsense: BusValue?

  init(_ bus: BusConnection, radio: String) {
    self.bus = bus
    self.radio = radio
    for path in [Self.root, Self.radioPath, Self.groupInterface, Self.group, Self.mesh, Self.home] {
      bus.export(path) { [unowned self] in answer($0, at: path) }
    }
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
      guard path == Self.groupInterface else {
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
    case "Interfaces":
      .array(
        of: "o",
        (groupName == nil ? [] : [.objectPath(Self.groupInterface)]) + (isTaken ? [.objectPath(Self.radioPath)] : []))
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
    let isGroup = path == Self.groupInterface
    switch interface.split(separator: ".").last {
    case "Interface":
      return [
        "Ifname": .string(isGroup ? "p2p-\(radio)-0" : radio), "State": .string(isGroup ? "completed" : state),
        "Capabilities": .properties(["Modes": .array(of: "s", modes.map(BusValue.string))]),
        "CurrentNetwork": .objectPath(isGroup ? "/" : meshOptions != nil ? Self.mesh : Self.home),
        "Networks": .array(of: "o", isGroup ? [] : [.objectPath(Self.home)]),
      ]
    case "P2PDevice":
      return isGroup && groupName != nil
        ? ["Role": .string("GO"), "Group": .objectPath(Self.group)]
        : ["Role": .string("device"), "Group": .objectPath("/")]
    case "Group":
      return [
        "SSID": .array(of: "y", (groupName ?? "").utf8.map(BusValue.byte)), "Passphrase": .string("sou;p is:ready"),
        "Frequency": .uint16(2437), "Members": .array(of: "o", [.objectPath("/a")]),
      ]
    case "Mesh": return ["MeshPeers": .array(of: "ay", [.array(of: "y", [.byte(2)])])]
    default: return [:]
    }
  }
}
