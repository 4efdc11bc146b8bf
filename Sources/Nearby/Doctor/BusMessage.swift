/// As much of the D-Bus wire format as calls with string arguments need.
enum BusMessage {
  enum Answer: Equatable {
    /// The body of the reply, unparsed.
    case returned([UInt8])
    case failed(String)
  }

  private static let call: UInt8 = 1
  private static let returned: UInt8 = 2
  private static let failed: UInt8 = 3

  static func encode(
    serial: UInt32, to destination: String, path: String, interface: String, member: String, _ arguments: [String]
  ) -> [UInt8] {
    var body: [UInt8] = []
    for argument in arguments { append(text: argument, to: &body) }
    var fields: [UInt8] = []
    append(field: 1, type: "o", path, to: &fields)
    append(field: 2, type: "s", interface, to: &fields)
    append(field: 3, type: "s", member, to: &fields)
    append(field: 6, type: "s", destination, to: &fields)
    if !arguments.isEmpty {
      append(fieldHead: 8, type: "g", to: &fields)
      let signature = String(repeating: "s", count: arguments.count)
      fields += [UInt8(arguments.count)] + Array(signature.utf8) + [0]
    }
    var bytes = [UInt8(ascii: "l"), call, 0, 1] + little(UInt32(body.count)) + little(serial)
    bytes += little(UInt32(fields.count)) + fields
    pad(&bytes, to: 8)
    return bytes + body
  }

  /// The first message that answers the call, and the bytes up to its end; nil where it is not there yet.
  static func answer(to serial: UInt32, in bytes: [UInt8]) -> (Answer, Int)? {
    var start = 0
    while let message = Message(bytes[start...]) {
      if message.answers == serial, message.type == returned {
        return (.returned(message.body), start + message.length)
      }
      if message.answers == serial, message.type == failed {
        return (.failed(message.error ?? "an error without a name"), start + message.length)
      }
      start += message.length
    }
    return nil
  }

  /// The text at the start of a body.
  static func text(_ body: [UInt8]) -> String? {
    guard let count = number(body, at: 0), body.count >= 4 + Int(count) else { return nil }
    return String(validating: body[4..<4 + Int(count)], as: UTF8.self)
  }

  static func number(_ bytes: [UInt8], at place: Int) -> UInt32? {
    guard bytes.count >= place + 4 else { return nil }
    return (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) }
  }

  // MARK: Parts

  private struct Message {
    /// A bus refuses longer messages long before.
    private static let bytesMax = 1 << 20

    let type: UInt8
    let length: Int
    let body: [UInt8]
    var answers: UInt32?
    var error: String?

    /// Nil where it is incomplete, or in the other byte order, which no bus of this machine speaks.
    init?(_ slice: ArraySlice<UInt8>) {
      let bytes = Array(slice)
      guard bytes.count >= 16, bytes[0] == UInt8(ascii: "l"), let bodyCount = number(bytes, at: 4),
        let fieldCount = number(bytes, at: 12), bodyCount < Self.bytesMax, fieldCount < Self.bytesMax
      else { return nil }
      let end = (16 + Int(fieldCount) + 7) / 8 * 8
      guard bytes.count >= end + Int(bodyCount) else { return nil }
      type = bytes[1]
      length = end + Int(bodyCount)
      body = Array(bytes[end..<length])
      var place = 16
      while place + 4 <= 16 + Int(fieldCount) {
        // Each field: its code, the signature of its value, the value.
        let (code, kind) = (bytes[place], bytes[place + 2])
        place += 4
        guard place < end else { return nil }
        switch kind {
        case UInt8(ascii: "u"):
          if code == 5 { answers = number(bytes, at: place) }
          place += 4
        case UInt8(ascii: "s"), UInt8(ascii: "o"):
          guard let count = number(bytes, at: place), place + 5 + Int(count) <= end else { return nil }
          if code == 4 { error = String(decoding: bytes[(place + 4)..<(place + 4 + Int(count))], as: UTF8.self) }
          place += 5 + Int(count)
        case UInt8(ascii: "g"):
          place += 2 + Int(bytes[place])
        default:
          return nil
        }
        place = (place + 7) / 8 * 8
      }
    }
  }

  private static func little(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
  }

  private static func pad(_ bytes: inout [UInt8], to multiple: Int) {
    while !bytes.count.isMultiple(of: multiple) { bytes.append(0) }
  }

  private static func append(text: String, to bytes: inout [UInt8]) {
    pad(&bytes, to: 4)
    bytes += little(UInt32(text.utf8.count)) + Array(text.utf8) + [0]
  }

  private static func append(fieldHead code: UInt8, type: Character, to bytes: inout [UInt8]) {
    pad(&bytes, to: 8)
    bytes += [code, 1, type.asciiValue ?? 0, 0]
  }

  private static func append(field code: UInt8, type: Character, _ text: String, to bytes: inout [UInt8]) {
    append(fieldHead: code, type: type, to: &bytes)
    append(text: text, to: &bytes)
  }
}
