/// The first message of a TLS client, read without consuming it (RFC 8446 §4.1.2): the protocols that it offers (ALPN).
///
/// It is parsed from bytes that may be incomplete and are not trusted; every length is checked.
struct ClientHello: Equatable {
  enum Outcome: Equatable {
    case incomplete
    case whole(ClientHello)
    case notTLS
  }

  /// With the largest keys that clients send today, one has 2 KiB.
  static let bytesMax = 16 << 10
  static let firstByte: UInt8 = 0x16

  let applicationProtocols: [String]

  /// Parses all bytes that have come so far, each time from the first.
  static func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    var message: [UInt8] = []
    var rest = bytes[...]
    // One message may be split over several records.
    while true {
      if message.count >= 4 {
        guard message[0] == clientHelloType else { return .notTLS }
        let length = Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3])
        if length + 4 > bytesMax { return .notTLS }
        if message.count >= length + 4 {
          guard let hello = ClientHello(message[4..<(length + 4)]) else { return .notTLS }
          return .whole(hello)
        }
      }
      guard let first = rest.first else { break }
      guard first == firstByte, rest.dropFirst().first ?? 3 == 3 else { return .notTLS }
      guard rest.count >= 5 else { break }
      let start = rest.startIndex
      let length = Int(rest[start + 3]) << 8 | Int(rest[start + 4])
      // Empty records are forbidden, and none has more than 16 KiB.
      guard length > 0, length <= 1 << 14 else { return .notTLS }
      let record = rest[(start + 5)...].prefix(length)
      message += record
      rest = rest[record.endIndex...]
      if record.count < length { break }
    }
    if let type = message.first, type != clientHelloType { return .notTLS }
    return bytes.count < bytesMax ? .incomplete : .notTLS
  }

  private static let clientHelloType: UInt8 = 1
  private static let protocolsExtension = 16

  private init?(_ body: ArraySlice<UInt8>) {
    var fields = Fields(rest: body)
    // Version and random; then session, ciphers and compressions, each after its length.
    guard fields.take(2 + 32) != nil, fields.takeVector(lengthBytes: 1) != nil,
      fields.takeVector(lengthBytes: 2) != nil, fields.takeVector(lengthBytes: 1) != nil
    else { return nil }
    var protocols: [String] = []
    if !fields.rest.isEmpty {
      guard let extensions = fields.takeVector(lengthBytes: 2), fields.rest.isEmpty else { return nil }
      var list = Fields(rest: extensions)
      while !list.rest.isEmpty {
        guard let type = list.takeNumber(2), let content = list.takeVector(lengthBytes: 2) else { return nil }
        guard type == Self.protocolsExtension else { continue }
        // A repeated extension would be ambiguous.
        guard protocols.isEmpty, let names = Self.names(content) else { return nil }
        protocols = names
      }
    }
    applicationProtocols = protocols
  }

  private static func names(_ content: ArraySlice<UInt8>) -> [String]? {
    var outer = Fields(rest: content)
    guard let list = outer.takeVector(lengthBytes: 2), outer.rest.isEmpty else { return nil }
    var names: [String] = []
    var fields = Fields(rest: list)
    while !fields.rest.isEmpty {
      guard let name = fields.takeVector(lengthBytes: 1), !name.isEmpty else { return nil }
      names.append(String(decoding: name, as: UTF8.self))
    }
    return names.isEmpty ? nil : names
  }

  private struct Fields {
    var rest: ArraySlice<UInt8>

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
      guard rest.count >= count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func takeNumber(_ byteCount: Int) -> Int? {
      take(byteCount)?.reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func takeVector(lengthBytes: Int) -> ArraySlice<UInt8>? {
      takeNumber(lengthBytes).flatMap { take($0) }
    }
  }
}
