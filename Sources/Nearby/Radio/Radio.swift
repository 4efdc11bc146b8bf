/// A Wi-Fi radio of this machine, by its network interface.
package struct Radio: Hashable, Sendable {
  package enum State: String, CaseIterable, Sendable {
    /// Nothing uses it.
    case idle
    /// It is connected with a network, or becomes so.
    case connected
    /// It has a network that was made here, by this program or another one.
    case network
    /// A switch has turned it off (rfkill).
    case blocked
  }

  /// The name of its interface, such as `wlan0`.
  package let name: String
  package var state: State
  /// The networks that its driver can make; nil where nobody could be asked.
  package var kinds: [RadioNetwork.Kind]?
  /// Whether NetworkManager manages it.
  package var isManaged = false
  package var network: RadioNetwork?
}

/// A network without an access point, which a radio of this machine is in.
package struct RadioNetwork: Hashable, Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    /// A group of Wi-Fi Direct that this machine owns: others join it as they join an access point.
    case group
    /// A mesh (802.11s), in which all are equal.
    case mesh
  }

  /// The source of addresses in it.
  package enum Addressing: String, CaseIterable, Sendable {
    /// Each host has an IPv6 address of its own making.
    case linkLocal
    /// This machine also gives out IPv4 addresses, which phones wait for.
    case dhcp
  }

  package let kind: Kind
  /// The network's interface: the radio's, or one beside it.
  package let interface: String
  /// The network's name (SSID, or mesh ID).
  package let name: String
  /// Nil for a mesh that is open, and where another program has made it.
  package let password: String?
  /// In MHz.
  package let frequency: Int
  /// The number of devices that are connected with this one.
  package let members: Int
  /// Whether the program that has made it is gone.
  package let isAbandoned: Bool
  package var addressing = Addressing.linkLocal
  /// The devices in it, as far as wpa_supplicant names them.
  package var stations: [RadioStation] = []
  /// The IPv4 addresses that this machine has in it.
  package var addresses: [String] = []

  /// The text of a QR code by which phones join; nil for a mesh, which phones do not join.
  package var code: String? {
    guard kind == .group, let password else { return nil }
    return "WIFI:T:WPA;S:\(Self.escaped(name));P:\(Self.escaped(password));;"
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { text, character in
      if "\\;,:\"".contains(character) { text.append("\\") }
      text.append(character)
    }
  }
}
