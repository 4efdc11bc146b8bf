internal import Media

/// Checks Bluetooth: the adapters, as the kernel shows them below `/sys`, and the program of the medium.
package enum BluetoothCheck {
  /// More than a machine has.
  private static let adaptersMax = 8

  /// None where the machine has no adapter, and no medium asks for one.
  package static func findings(_ media: [HostMedium]) -> [Finding] {
    findings(media, root: "/sys", program: HostNetwork.bluetoothTrouble)
  }

  /// Nil for a medium that works as far as can be seen, and for every other one.
  package static func trouble(with medium: HostMedium) -> Finding? { findings([medium]).first { $0.state == .bad } }

  static func findings(_ media: [HostMedium], root: String, program: Trouble?) -> [Finding] {
    let folder = "\(root)/class/bluetooth"
    // Connections are there as well, such as `hci0:12`.
    let adapters = SystemFile.names(in: folder).filter { HostNetwork.isBluetoothAdapter($0) }.sorted()
    let wanted = media.compactMap { medium -> String? in
      guard case .bluetooth(let adapter) = medium else { return nil }
      return adapter ?? ""
    }
    if wanted.isEmpty { return findings(adapters, in: folder, isWanted: false) }
    if let program { return [Finding(.bluetooth, .bad, program.cause, cure: program.cure)] }
    return wanted.flatMap { name in
      findings(adapters.filter { name.isEmpty || $0 == name }, in: folder, isWanted: true, named: name)
    }
  }

  private static func findings(
    _ adapters: [String], in folder: String, isWanted: Bool, named name: String = ""
  ) -> [Finding] {
    if adapters.isEmpty, isWanted {
      return [
        Finding(
          .bluetooth, .bad,
          name.isEmpty ? "This machine has no Bluetooth adapter." : "There is no Bluetooth adapter \(name).",
          cure: "'bluetoothctl list' names those that there are; if one is missing, see the kernel's log for firmware.")
      ]
    }
    let isOff = adapters.map { isSet("hard", of: $0, in: folder) || isSet("soft", of: $0, in: folder) }
    // One that is on is enough.
    let off: Finding.State = isWanted && isOff.allSatisfy { $0 } ? .bad : .doubtful
    return zip(adapters, isOff).prefix(adaptersMax).map { adapter, isOff in
      if isOff {
        return Finding(
          .bluetooth, off, "The Bluetooth adapter \(adapter) is turned off (rfkill).",
          cure: "rfkill unblock bluetooth, or the machine's switch.")
      }
      let hint = isWanted ? "" : ": --medium bluetooth meets hosts without a network"
      return Finding(.bluetooth, .good, "There is the Bluetooth adapter \(adapter)\(hint).")
    }
  }

  private static func isSet(_ name: String, of adapter: String, in folder: String) -> Bool {
    SystemFile.names(in: "\(folder)/\(adapter)").contains {
      $0.hasPrefix("rfkill") && SystemFile.text(of: "\(folder)/\(adapter)/\($0)/\(name)")?.hasPrefix("1") == true
    }
  }
}
