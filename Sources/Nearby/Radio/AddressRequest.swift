/// A message of a DHCP client (RFC 2131), as far as a server without relays and settings needs it.
struct AddressRequest: Hashable {
  enum Kind: UInt8 {
    case discover = 1
    case request = 3
    case release = 7
  }

  /// The fixed fields before the options, with their cookie.
  static let headBytes = 240
  static let cookie: [UInt8] = [99, 130, 83, 99]
  static let hardwareBytes = 6
  /// As many as a label of a host name has.
  static let nameBytesMax = 63

  let kind: Kind
  /// The client's number for its exchange, its flags, and its hardware address: an answer repeats them.
  let transaction: [UInt8]
  let flags: [UInt8]
  let hardware: [UInt8]
  /// The address that the client has.
  let address: [UInt8]
  /// The address that it wants.
  let wanted: [UInt8]?
  /// The server that it means; nil for any.
  let server: [UInt8]?
  /// The host name that the client gives itself; nil where it is no short text of printable ASCII, as host names are.
  let name: String?

  /// Nil for all else: answers, other kinds, messages by relays, and those that are cut or malformed.
  init?(_ bytes: [UInt8]) {
    guard bytes.count > Self.headBytes, bytes[0] == 1, bytes[1] == 1, bytes[2] == UInt8(Self.hardwareBytes),
      Array(bytes[236..<240]) == Self.cookie, bytes[24..<28].allSatisfy({ $0 == 0 })
    else { return nil }
    var options: [UInt8: [UInt8]] = [:]
    var place = Self.headBytes
    while place < bytes.count, bytes[place] != 255 {
      let code = bytes[place]
      place += 1
      if code == 0 { continue }
      guard place < bytes.count else { return nil }
      let end = place + 1 + Int(bytes[place])
      guard end <= bytes.count else { return nil }
      options[code] = Array(bytes[(place + 1)..<end])
      place = end
    }
    guard let kind = options[53].flatMap({ $0.count == 1 ? Kind(rawValue: $0[0]) : nil }) else { return nil }
    for code: UInt8 in [50, 54] { if let value = options[code], value.count != 4 { return nil } }
    self.kind = kind
    transaction = Array(bytes[4..<8])
    flags = Array(bytes[10..<12])
    address = Array(bytes[12..<16])
    hardware = Array(bytes[28..<34])
    wanted = options[50]
    server = options[54]
    name = options[12].flatMap(Self.name)
  }

  private static func name(_ bytes: [UInt8]) -> String? {
    // Some clients end it as C does.
    let text = bytes.last == 0 ? bytes.dropLast() : bytes[...]
    guard (1...nameBytesMax).contains(text.count), text.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }
}
