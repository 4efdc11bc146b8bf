internal import DBus

/// The reason why a radio cannot be used, with a remedy.
package struct RadioError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, CaseIterable, Sendable {
    /// No radio, or none of this name.
    case missing
    /// A switch has turned it off.
    case blocked
    /// wpa_supplicant is not there.
    case unavailable
    /// This user may not ask wpa_supplicant.
    case forbidden
    /// The driver cannot do it.
    case unsupported
    /// It is connected, or others use it.
    case inUse
    case invalid
    case failed
  }

  package let code: Code
  /// A sentence with the cause.
  package let cause: String
  package let cure: String?
  /// The part of the plan that is not valid.
  package var field: String?
  /// The obstacle as one word, by which a page tells it in another language.
  package let rule: String?

  init(_ code: Code, _ cause: String, cure: String? = nil, rule: String? = nil) {
    self.code = code
    self.cause = cause
    self.cure = cure
    self.rule = rule
  }

  package var description: String { cure.map { "\(cause) \($0)" } ?? cause }

  static func invalid(_ field: String, rule: String? = nil, _ cause: String) -> RadioError {
    var error = RadioError(.invalid, cause, rule: rule)
    error.field = field
    return error
  }

  static let noRadio = RadioError(
    .missing, "This machine has no Wi-Fi radio that Linux knows.",
    cure: "Plug one in, or see whether its driver and firmware are there: dmesg | grep -i firmware.")

  static let noSupplicant = RadioError(
    .unavailable, "wpa_supplicant, which drives the radios, does not run on D-Bus.",
    cure: "apt install wpasupplicant, systemctl start wpa_supplicant.", rule: "wpaSupplicant")

  static let busy = RadioError(
    .inUse, "Another request changes the radios just now.", cure: "Ask again in a few seconds.", rule: "busy")

  static func unknownRadio(_ name: String, _ others: [String]) -> RadioError {
    RadioError(
      .missing, "There is no Wi-Fi radio '\(name)'.",
      cure: others.isEmpty ? "This machine has none." : "There is \(others.joined(separator: ", ")).")
  }

  static func blocked(_ name: String, byHardware: Bool) -> RadioError {
    RadioError(
      .blocked, "\(name) is turned off by \(byHardware ? "a switch of the machine" : "software") (rfkill).",
      cure: byHardware ? "Use the machine's switch or key for radios." : "Turn it on: rfkill unblock wlan.",
      rule: "rfkill")
  }

  static func unsupported(_ name: String, _ kind: RadioNetwork.Kind) -> RadioError {
    let what = kind == .group ? "groups of Wi-Fi Direct (P2P)" : "meshes (802.11s)"
    let other = kind == .group ? "mesh" : "group"
    return RadioError(
      .unsupported, "The driver of \(name), or this wpa_supplicant, makes no \(what).",
      cure: "Try a \(other), or another adapter: docs/radios.md lists some.", rule: "driver")
  }

  static func connected(_ name: String) -> RadioError {
    RadioError(
      .inUse, "\(name) is connected, and that connection might drop.",
      cure: "Disconnect it first, or do it all the same with --force (force, in REST).", rule: "radioConnected")
  }

  static func managed(_ name: String) -> RadioError {
    RadioError(
      .inUse, "NetworkManager manages \(name), and would take it back.",
      cure: "Run: nmcli device set \(name) managed no. Or do it all the same with --force (force, in REST).",
      rule: "radioManaged")
  }

  static func taken(_ name: String, _ network: RadioNetwork) -> RadioError {
    RadioError(
      .inUse, "\(name) already has the \(network.kind.rawValue) '\(network.name)'.",
      cure: "Stop that first: vicinity radio stop \(name).", rule: "radioTaken")
  }

  static func late(_ name: String, _ kind: RadioNetwork.Kind) -> RadioError {
    RadioError(
      .failed, "The \(kind.rawValue) on \(name) did not come up in time.",
      cure: "Another frequency may be allowed where you are (iw reg get); journalctl -u wpa_supplicant says more.",
      rule: "radioLate")
  }

  /// An error of this process: there is no thread or no descriptor.
  package init(wrapping error: any Error) { self = error as? RadioError ?? RadioError(.failed, "\(error).") }

  /// An error of the bus, or of wpa_supplicant on it.
  init(_ error: BusError) {
    let name = error.name
    if name == BusError.noSocketName || name == BusError.noServerName {
      self.init(
        .unavailable, "There is no D-Bus here, over which wpa_supplicant is asked.", cure: "systemctl start dbus.",
        rule: "wpaSupplicant")
    } else if name == BusError.accessDeniedName || error == .refused {
      self.init(
        .forbidden, "This user may not ask wpa_supplicant.",
        cure: "Run it as root, or be in the group 'netdev': usermod --append --groups netdev USER.", rule: "netdev")
    } else if name.hasSuffix(".ServiceUnknown") || name.hasSuffix(".NameHasNoOwner") || name.contains(".Spawn.")
      || name.hasSuffix(".NoSuchUnit")
    {
      self = .noSupplicant
    } else {
      self.init(.failed, "wpa_supplicant: \(error.text) (\(name)).")
    }
  }
}
