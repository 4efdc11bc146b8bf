/// The kind of peers that look for each other: a legal service name of RFC 6335.
public struct ServiceType: Part, Comparable, CustomStringConvertible {
  public let text: String
  public var description: String { text }

  public init(_ text: String) throws(WireError) {
    let bytes = text.utf8
    guard let first = bytes.first else { throw WireError(.serviceTypeEmpty) }
    guard bytes.count <= Limits.serviceTypeBytesMax else { throw WireError(.serviceTypeTooLong(bytes: bytes.count)) }
    let hyphen = UInt8(ascii: "-")
    var previous = first
    var hasLetter = false
    for (place, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): hasLetter = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): break
      case hyphen: if place == 0 || previous == hyphen { throw WireError(.serviceTypeHyphen) }
      default: throw WireError(.serviceTypeCharacter(byte: byte))
      }
      previous = byte
    }
    if previous == hyphen { throw WireError(.serviceTypeHyphen) }
    guard hasLetter else { throw WireError(.serviceTypeWithoutLetter) }
    self.text = text
  }

  /// The type of the records that hosts have for themselves: no type of peers.
  // `try!`: a constant of letters and one hyphen, shorter than 15, keeps the rules for types.
  public static let hosts = try! ServiceType("vicinity-host")
  /// The type of the records of hosts that relay to hosts of other media.
  // `try!`: as above.
  public static let relays = try! ServiceType("vicinity-relay")

  public static func < (a: ServiceType, b: ServiceType) -> Bool { a.text < b.text }

  public init(from reader: inout Reader) throws(WireError) {
    try self.init(try reader.text("service type", max: Limits.serviceTypeBytesMax))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(text: text, max: Limits.serviceTypeBytesMax)
  }
}
