internal import DBus
internal import Reactor

/// wpa_supplicant, as it is asked over D-Bus (`fi.w1.wpa_supplicant1`), on a loop.
///
/// Its answers are read as claims: a property that is missing, or of another type, counts as not there.
final class Supplicant {
  static let service = "fi.w1.wpa_supplicant1"
  static let root = "/fi/w1/wpa_supplicant1"
  static let interface = "\(service).Interface"
  static let p2p = "\(interface).P2PDevice"
  static let mesh = "\(interface).Mesh"
  static let group = "\(service).Group"
  static let network = "\(service).Network"
  static let station = "\(service).Station"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let networkManager = "org.freedesktop.NetworkManager"
  /// Taking an interface sets up the driver, which takes seconds on a slow machine.
  private static let answerTimeMax: Duration = .seconds(20)

  /// The end of a group's name, by which it is known to be this program's.
  static let postfix = "-vicinity"
  /// The mark of this program's meshes: an option of networks that wpa_supplicant only keeps.
  private static let meshMark = "vicinity-radio"

  /// An interface that wpa_supplicant has.
  struct Interface {
    let path: String
    let name: String
    let state: String
    let kinds: [RadioNetwork.Kind]
    /// The path of the network that it is connected with.
    let network: String?
    let networks: [String]
    /// The paths of the devices that are connected with it, or become so; nil before wpa_supplicant 2.8.
    let stations: [String]?

    /// Whether it is connected, or becomes so.
    var isInUse: Bool {
      ["authenticating", "associating", "associated", "4way_handshake", "group_handshake", "completed"].contains(state)
    }
  }

  /// A network that an interface is in and that was made on this machine.
  struct Network {
    let kind: RadioNetwork.Kind
    /// The object to ask for its end: the interface of a group, or a mesh's network.
    let path: String
    let interface: Interface
    let name: String
    let password: String?
    let frequency: Int
    /// The number of devices that are connected with this one, or become so.
    let members: Int
    /// The hardware addresses of those in a mesh.
    var peers: [[UInt8]] = []
    /// Whether this program, or another one like it, has made it.
    let isOwn: Bool
  }

  private let bus: BusConnection
  private let reactor: Reactor
  /// Called after each of its signals, and when it ends or comes up.
  var onChange: (() -> Void)?

  init(at path: String, on reactor: Reactor) throws(RadioError) {
    self.reactor = reactor
    do throws(BusError) { bus = try BusConnection(path, on: reactor) } catch { throw RadioError(error) }
    bus.follow(Self.service) { [unowned self] _ in onChange?() }
  }

  func close() { bus.close() }

  func isRunning() async throws(RadioError) -> Bool { try await hasOwner(Self.service) }

  private func hasOwner(_ service: String) async throws(RadioError) -> Bool {
    let (name, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
    do throws(BusError) {
      return try await bus.call(name, path, name, "NameHasOwner", [.string(service)]) == [.boolean(true)]
    } catch {
      throw RadioError(error)
    }
  }

  // MARK: Interfaces

  func interfaces() async throws(RadioError) -> [Interface] {
    guard case .array(_, let paths) = try await property("Interfaces", of: Self.root, Self.service) else { return [] }
    var interfaces: [Interface] = []
    for case .objectPath(let path) in paths { if let one = await interface(at: path) { interfaces.append(one) } }
    return interfaces
  }

  /// Nil where it is gone.
  private func interface(at path: String) async -> Interface? {
    guard let values = try? await allProperties(of: path, Self.interface), let name = values["Ifname"]?.text else {
      return nil
    }
    let modes = values["Capabilities"]?.properties?["Modes"]?.list.compactMap(\.text) ?? []
    return Interface(
      path: path, name: name, state: values["State"]?.text ?? "",
      kinds: (modes.contains("p2p") ? [.group] : []) + (modes.contains("mesh") ? [.mesh] : []),
      network: values["CurrentNetwork"]?.path, networks: values["Networks"]?.list.compactMap(\.path) ?? [],
      stations: values["Stations"]?.list.compactMap(\.path))
  }

  /// Has it take an interface, where it has not yet; and whether it had to.
  func take(_ name: String) async throws(RadioError) -> (interface: Interface, isNew: Bool) {
    if let known = try await interfaces().first(where: { $0.name == name }) { return (known, false) }
    let answer = try await call(
      Self.root, Self.service, "CreateInterface",
      [.properties(["Ifname": .string(name), "Driver": .string("nl80211")])])
    guard let path = answer.first?.path, let interface = await interface(at: path) else {
      throw RadioError(.failed, "wpa_supplicant took \(name) and lost it again.")
    }
    return (interface, true)
  }

  func release(_ path: String) async {
    _ = try? await call(Self.root, Self.service, "RemoveInterface", [.objectPath(path)])
  }

  // MARK: Networks

  /// The network that was made on one of the interfaces.
  func network(on interfaces: [Interface]) async -> Network? {
    for interface in interfaces {
      if let group = await group(of: interface) { return group }
      if let mesh = await mesh(of: interface) { return mesh }
    }
    return nil
  }

  private func group(of interface: Interface) async -> Network? {
    guard let device = try? await allProperties(of: interface.path, Self.p2p), device["Role"]?.text == "GO",
      let path = device["Group"]?.path, let group = try? await allProperties(of: path, Self.group)
    else { return nil }
    let name = String(decoding: group["SSID"]?.bytes ?? [], as: UTF8.self)
    return Network(
      kind: .group, path: interface.path, interface: interface, name: name, password: group["Passphrase"]?.text,
      frequency: group["Frequency"]?.number ?? 0, members: group["Members"]?.list.count ?? 0,
      isOwn: name.hasPrefix("DIRECT-") && name.hasSuffix(Self.postfix))
  }

  private func mesh(of interface: Interface) async -> Network? {
    guard interface.state == "completed", let path = interface.network,
      case .variant(let value)? = try? await get("Properties", of: path, Self.network), let network = value.properties,
      network["mode"]?.text == "5"
    else { return nil }
    let peers = (try? await allProperties(of: interface.path, Self.mesh))?["MeshPeers"]?.list ?? []
    return Network(
      kind: .mesh, path: path, interface: interface, name: network["ssid"]?.text?.unquoted ?? "", password: nil,
      frequency: network["frequency"]?.text.flatMap { Int($0) } ?? 0, members: peers.count, peers: peers.map(\.bytes),
      isOwn: network["id_str"]?.text?.unquoted == Self.meshMark)
  }

  /// The hardware addresses of the devices in a network; nil where wpa_supplicant does not tell.
  ///
  /// The members of a group are no source of them: those are known by the addresses of their Wi-Fi Direct, and a phone that joins
  /// as plain Wi-Fi has none.
  func stations(in network: Network) async -> [[UInt8]]? {
    guard network.kind == .group else { return Array(network.peers.prefix(RadioStation.countMax)) }
    guard let paths = network.interface.stations else { return nil }
    var stations: [[UInt8]] = []
    for path in paths.prefix(RadioStation.countMax) {
      // A device that has not shown the password yet has no object.
      if let address = try? await property("Address", of: path, Self.station).bytes { stations.append(address) }
    }
    return stations
  }

  /// Begins a group; it is there once `network` shows it. The name's end is what it was before, for those of others.
  func addGroup(on interface: Interface, frequency: Int) async throws(RadioError) {
    let before = try await property("P2PDeviceConfig", of: interface.path, Self.p2p).properties?["SsidPostfix"]?.text
    try await setPostfix(Self.postfix, of: interface)
    do throws(RadioError) {
      _ = try await call(
        interface.path, Self.p2p, "GroupAdd", [.properties(["frequency": .int32(Int32(clamping: frequency))])])
    } catch {
      try? await setPostfix(before ?? "", of: interface)
      throw error
    }
    // The group has its name from the call on.
    try? await setPostfix(before ?? "", of: interface)
  }

  private func setPostfix(_ text: String, of interface: Interface) async throws(RadioError) {
    let value = BusValue.properties(["SsidPostfix": .string(text)])
    _ = try await call(
      interface.path, Self.properties, "Set", [.string(Self.p2p), .string("P2PDeviceConfig"), .variant(value)])
  }

  /// Begins to be in a mesh, and returns the path of its network.
  func joinMesh(_ plan: RadioPlan, on interface: Interface) async throws(RadioError) -> String {
    var network: [String: BusValue] = [
      "ssid": .string(plan.name), "mode": .int32(5), "frequency": .int32(Int32(clamping: plan.frequency)),
      "id_str": .string(Self.meshMark), "key_mgmt": .string(plan.password == nil ? "NONE" : "SAE"),
    ]
    if let password = plan.password { network["psk"] = .string(password) }
    let answer = try await call(interface.path, Self.interface, "AddNetwork", [.properties(network)])
    guard let path = answer.first?.path else { throw RadioError(.failed, "wpa_supplicant added no network.") }
    do throws(RadioError) {
      _ = try await call(interface.path, Self.interface, "SelectNetwork", [.objectPath(path)])
    } catch {
      await removeNetwork(path, of: interface)
      throw error
    }
    return path
  }

  func removeNetwork(_ path: String, of interface: Interface) async {
    _ = try? await call(interface.path, Self.interface, "RemoveNetwork", [.objectPath(path)])
  }

  func end(_ network: Network) async throws(RadioError) {
    switch network.kind {
    case .group: _ = try await call(network.path, Self.p2p, "Disconnect", [])
    case .mesh: _ = try await call(network.interface.path, Self.interface, "RemoveNetwork", [.objectPath(network.path)])
    }
  }

  /// The interface's networks that are enabled, which selecting another one disables.
  func enabledNetworks(of interface: Interface) async -> [String] {
    var enabled: [String] = []
    for path in interface.networks {
      if case .boolean(true)? = try? await property("Enabled", of: path, Self.network) { enabled.append(path) }
    }
    return enabled
  }

  func enable(_ networks: [String]) async {
    for path in networks {
      _ = try? await call(
        path, Self.properties, "Set", [.string(Self.network), .string("Enabled"), .variant(.boolean(true))])
    }
  }

  // MARK: NetworkManager

  /// Whether NetworkManager manages an interface; false where it does not run, or does not answer.
  func isManaged(_ name: String) async -> Bool {
    let path = "/org/freedesktop/NetworkManager"
    // Nothing is started for this question.
    guard (try? await hasOwner(Self.networkManager)) == true,
      let device = try? await bus.call(
        Self.networkManager, path, Self.networkManager, "GetDeviceByIpIface", [.string(name)]
      ).first?.path
    else { return false }
    let answer = try? await bus.call(
      Self.networkManager, device, Self.properties, "Get",
      [.string("\(Self.networkManager).Device"), .string("Managed")])
    return answer?.first == .variant(.boolean(true))
  }

  // MARK: Calls

  private func call(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]
  ) async throws(RadioError) -> [BusValue] {
    do throws(BusError) {
      return try await bus.call(Self.service, path, interface, member, arguments, within: Self.answerTimeMax)
    } catch {
      throw RadioError(error)
    }
  }

  private func get(_ name: String, of path: String, _ interface: String) async throws(RadioError) -> BusValue {
    let answer = try await call(path, Self.properties, "Get", [.string(interface), .string(name)])
    guard let value = answer.first else { throw RadioError(.failed, "wpa_supplicant answered nothing.") }
    return value
  }

  private func property(_ name: String, of path: String, _ interface: String) async throws(RadioError) -> BusValue {
    let value = try await get(name, of: path, interface)
    if case .variant(let inner) = value { return inner }
    return value
  }

  private func allProperties(of path: String, _ interface: String) async throws(RadioError) -> [String: BusValue] {
    try await call(path, Self.properties, "GetAll", [.string(interface)]).first?.properties ?? [:]
  }
}

extension BusValue {
  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }

  /// The empty path stands for nothing.
  fileprivate var path: String? {
    if case .objectPath(let path) = self, path != "/" { path } else { nil }
  }

  fileprivate var list: [BusValue] { if case .array(_, let values) = self { values } else { [] } }

  fileprivate var number: Int? {
    switch self {
    case .uint16(let number): Int(number)
    case .int32(let number): Int(number)
    case .uint32(let number): Int(number)
    default: nil
    }
  }

  fileprivate var bytes: [UInt8] {
    list.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
  }
}

extension String {
  /// Without the quotes in which wpa_supplicant shows texts.
  fileprivate var unquoted: String {
    count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
  }
}
