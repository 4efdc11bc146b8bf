/// The address of a Bluetooth device (BD_ADDR).
public struct BluetoothAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Its 48 bits.
  public let value: UInt64

  /// Takes the lower 48 bits.
  public init(_ value: UInt64) { self.value = value & 0xFFFF_FFFF_FFFF }

  /// Reads what `text` gives.
  public init?(text: some StringProtocol) {
    guard text.utf8.count == 12, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }), let value = UInt64(text, radix: 16)
    else { return nil }
    self.init(value)
    guard self.text == text else { return nil }
  }

  /// Twelve lower-case digits.
  public var text: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// The form that people know: `00:AA:01:00:00:42`.
  public var description: String {
    let digits = Array(text.uppercased())
    return stride(from: 0, to: 12, by: 2).map { String(digits[$0...$0 + 1]) }.joined(separator: ":")
  }

  public static func < (one: Self, other: Self) -> Bool { one.value < other.value }
}
