/// A cable between a host and a network: the host's interface, the switch's port, and all that can be wrong between them.
@Laboratory
final class Cable {
  let network: Network
  /// The host's interface.
  let interface: String
  private(set) var faults = Faults.none
  private(set) var addresses: [String]
  private unowned let host: LabHost
  private let port: String
  private let firstAddresses: [String]

  /// Plugs it in.
  init(_ host: LabHost, to network: Network) async throws {
    self.host = host
    self.network = network
    interface = "eth\(network.number - 1)"
    port = "\(host.name)-\(network.number)"
    // The same after a restart: others remember it.
    let hardware = "02:00:00:00:0\(network.number):\(String(host.number + 0x100, radix: 16).dropFirst())"
    firstAddresses = network.addresses(ofHost: host.number)
    addresses = firstAddresses
    try await host.rig.configure([
      "link add \(port) type veth peer name \(interface) address \(hardware) netns \(host.process)",
      "link set \(port) addrgenmode none master \(network.name) up",
    ])
    // One packet is one packet, for those that count them: no bundles that the cable would take for one.
    try await host.configure(
      ["link set lo up", "link set \(interface) addrgenmode none gso_max_segs 1"]
        + addresses.map(adding) + ["link set \(interface) up"])
  }

  /// Its address of IPv4, without the length of the network's prefix.
  var address: String { String(addresses[0].prefix { $0 != "/" }) }

  // MARK: Faults

  /// Makes the cable so faulty and no more.
  func set(_ wanted: Faults) async throws {
    let old = faults
    // Said first: where it fails halfway, all of it is said anew.
    faults = wanted
    if wanted.isCut != old.isCut { try await host.rig.configure(["link set \(port) \(wanted.isCut ? "down" : "up")"]) }
    if wanted.rules(at: port) != old.rules(at: port) {
      try await host.rig.run(["nft", wanted.rules(at: port)])
    }
    if wanted.bytesPerSecondMax != old.bytesPerSecondMax {
      try await host.rig.run(["tc"] + wanted.shaping(of: port))
      try await host.configure(with: ["tc"] + wanted.shaping(of: interface))
    }
    if wanted.isIsolated != old.isIsolated {
      try await host.rig.run(["bridge", "link", "set", "dev", port, "isolated", wanted.isIsolated ? "on" : "off"])
    }
  }

  func cut() async throws {
    var faults = faults
    faults.isCut = true
    try await set(faults)
  }

  /// The host turns its interface off, which takes the addresses of IPv6, and on again.
  func turnOff() async throws { try await host.configure(["link set \(interface) down"]) }

  func turnOn() async throws {
    try await host.configure(
      ["link set \(interface) up"]
        + addresses.filter { $0.contains(":") }.map { "addr replace \($0) nodad dev \(interface)" })
  }

  /// Removes all faults.
  func mend() async throws { try await set(.none) }

  // MARK: Addresses

  func add(_ address: String) async throws {
    addresses.append(address)
    try await host.configure([adding(address)])
  }

  func remove(_ address: String) async throws {
    addresses.removeAll { $0 == address }
    try await host.configure(["addr del \(address) dev \(interface)"])
  }

  /// Another address in place of one that it has, as a router's lease gives it.
  func change(_ address: String, to other: String) async throws {
    try await remove(address)
    try await add(other)
  }

  /// Whether there was something to restore.
  func restoreAddresses() async throws -> Bool {
    guard addresses != firstAddresses else { return false }
    for address in addresses where !firstAddresses.contains(address) { try await remove(address) }
    for address in firstAddresses where !addresses.contains(address) { try await add(address) }
    addresses = firstAddresses
    return true
  }

  private func adding(_ address: String) -> String {
    // Nobody else has an IPv6 address of ours: it need not ask for a second.
    "addr add \(address) \(address.contains(":") ? "nodad" : "brd +") dev \(interface)"
  }

  /// Pulls it out at both ends.
  func unplug() async throws {
    try await host.rig.configure(["link del \(port)"])
  }
}
