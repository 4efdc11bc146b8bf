internal import Nearby
internal import Notation

/// Events of Bluetooth devices that want to be paired.
extension Event {
  static func bluetoothPairing(_ number: Int, _ pairing: BluetoothPairing) -> Event {
    Event(
      "bluetoothPairing", .result,
      members(number, pairing) + [pairing.number.map { .text("code", $0) }]
    ) { paint in
      let name = name(of: pairing)
      let (yes, no) = (paint(.strong, "/accept \(number)"), paint(.strong, "/decline \(number)"))
      let question =
        pairing.number.map { "does it show the number \(paint(.strong, $0))? \(yes) if so, \(no) if not" }
        ?? "it shows no number to compare. \(yes) or \(no)"
      return ["the Bluetooth device \(paint(.strong, name)) wants to be paired with this machine", "  \(question)"]
    }
  }

  static func bluetoothPairingEnded(_ number: Int, _ pairing: BluetoothPairing, _ end: BluetoothPairing.End) -> Event {
    Event("bluetoothPairingEnded", .news, members(number, pairing) + [.text("end", end.rawValue)]) { paint in
      let name = name(of: pairing)
      let line =
        switch end {
        case .accepted: "\(paint(.good, "let in")): the Bluetooth device \(name) may be paired"
        case .declined: "the Bluetooth device \(name) was refused"
        case .timedOut: "the Bluetooth device \(name) was refused, since nobody answered"
        case .cancelled: "the Bluetooth device \(name) does not want to be paired any more"
        }
      return [line]
    }
  }

  private static func members(_ number: Int, _ pairing: BluetoothPairing) -> [JSON.Member?] {
    [.number("number", number), .text("device", pairing.device), .text("name", pairing.name)]
  }

  private static func name(of pairing: BluetoothPairing) -> String {
    pairing.name.isEmpty ? pairing.device : "\(PlainText.line(pairing.name)) (\(pairing.device))"
  }
}
