import DBus
import Reactor

/// bluetoothd as its D-Bus interface shows it, on the loop of its test.
final class FakeBluez {
  enum Mode {
    case registers
    case refuses(String)
    /// It answers when `answerLate` is called, and has registered the profile long before.
    case isLate
  }

  let bus: BusConnection
  var mode: Mode
  /// Records that are registered, by the connection and the object that have done so.
  private(set) var records: [String: String] = [:]
  private(set) var calls = 0
  private var late: [BusInvocation] = []

  /// It is there once it has its name.
  nonisolated(nonsending) init(_ path: String, on reactor: Reactor, _ mode: Mode = .registers) async throws {
    bus = try BusConnection(path, on: reactor)
    self.mode = mode
    bus.export("/org/bluez") { [unowned self] in answer($0) }
    let daemon = "org.freedesktop.DBus"
    _ = try await bus.call(daemon, "/org/freedesktop/DBus", daemon, "RequestName", [.string("org.bluez"), .uint32(0)])
  }

  private func answer(_ call: BusInvocation) {
    // The agent registers, too.
    if call.interface == "org.bluez.AgentManager1" { return call.reply() }
    calls += 1
    guard call.interface == "org.bluez.ProfileManager1", call.member == "RegisterProfile", call.arguments.count == 3,
      case .objectPath(let object) = call.arguments[0],
      case .string(let record)? = call.arguments[2].properties?["ServiceRecord"]
    else { return call.refuse(BusError("org.bluez.Error.InvalidArguments", "")) }
    let key = "\(call.sender) \(object)"
    if records[key] != nil { return call.refuse(BusError("org.bluez.Error.AlreadyExists", "Already Exists")) }
    switch mode {
    case .registers:
      records[key] = record
      call.reply()
    case .refuses(let error): call.refuse(BusError("org.bluez.Error.\(error)", ""))
    case .isLate:
      records[key] = record
      late.append(call)
    }
  }

  func answerLate() {
    for call in late { call.reply() }
    late = []
  }

  /// An adapter, or a device of it, has changed.
  func change(_ object: String, _ interface: String) throws {
    try bus.emit(
      object, "org.freedesktop.DBus.Properties", "PropertiesChanged",
      [.string(interface), .properties(["Powered": .boolean(true)]), .array(of: "s", [])])
  }

  func changeAdapter() throws { try change("/org/bluez/hci0", "org.bluez.Adapter1") }

  /// Interfaces of an object have come, or gone.
  func add(_ object: String, _ interface: String) throws {
    try bus.emit(
      "/", "org.freedesktop.DBus.ObjectManager", "InterfacesAdded",
      [.objectPath(object), .array(of: "{sa{sv}}", [.entry(.string(interface), .properties([:]))])])
  }

  func remove(_ object: String, _ interface: String) throws {
    try bus.emit(
      "/", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
      [.objectPath(object), .array(of: "s", [.string(interface)])])
  }
}
