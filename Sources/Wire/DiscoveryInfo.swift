/// An advertiser's key-value pairs, in the order of the keys' bytes; fit for a DNS-SD TXT record (RFC 6763 §6).
public struct DiscoveryInfo: Part {
  public let pairs: [(key: String, value: String)]

  public static let empty = DiscoveryInfo(sorted: [])

  private init(sorted pairs: [(key: String, value: String)]) { self.pairs = pairs }

  public init(_ pairs: [String: String]) throws(WireError) {
    guard pairs.count <= Limits.discoveryPairsMax else {
      throw WireError(.discoveryPairsOverLimit(count: pairs.count))
    }
    // The keys turn out to be ASCII, for which the order of strings is the order of their bytes.
    let sorted = pairs.map { (key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    for pair in sorted { try Self.check(pair) }
    self.init(sorted: sorted)
    guard byteCount <= Limits.discoveryInfoBytesMax else {
      throw WireError(.discoveryInfoTooLong(bytes: byteCount))
    }
  }

  public subscript(key: String) -> String? { pairs.first { $0.key == key }?.value }

  public var isEmpty: Bool { pairs.isEmpty }

  /// As a TXT record counts: each `key=value` with one byte of length.
  public var byteCount: Int { pairs.reduce(0) { $0 + 1 + Self.size($1) } }

  /// Advice for the advertiser when this is large enough to cost it reach.
  public var warning: String? {
    guard byteCount > Limits.discoveryInfoBytesAdvised else { return nil }
    return "The discovery info has \(byteCount) bytes; over \(Limits.discoveryInfoBytesAdvised) an announcement may "
      + "need more than one packet, so peers are found later. Send what is large after connecting."
  }

  private static func size(_ pair: (key: String, value: String)) -> Int {
    pair.key.utf8.count + 1 + pair.value.utf8.count
  }

  private static func check(_ pair: (key: String, value: String)) throws(WireError) {
    guard !pair.key.isEmpty else { throw WireError(.discoveryKeyEmpty) }
    for byte in pair.key.utf8 where !(0x20...0x7e).contains(byte) || byte == UInt8(ascii: "=") {
      throw WireError(.discoveryKeyCharacter(key: pair.key, byte: byte))
    }
    guard size(pair) <= Limits.discoveryPairBytesMax else {
      throw WireError(.discoveryPairTooLong(key: pair.key, bytes: size(pair)))
    }
  }

  // String compares values by canonical equivalence, and a changed value must be seen as changed.
  public static func == (a: DiscoveryInfo, b: DiscoveryInfo) -> Bool {
    a.pairs.elementsEqual(b.pairs) { $0.key == $1.key && $0.value.utf8.elementsEqual($1.value.utf8) }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(pairs.count)
    for pair in pairs {
      pair.key.utf8.hash(into: &hasher)
      pair.value.utf8.hash(into: &hasher)
    }
  }

  public init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count("discovery info", max: Limits.discoveryPairsMax)
    var pairs: [(key: String, value: String)] = []
    pairs.reserveCapacity(count)
    for _ in 0..<count {
      let key = try reader.text("discovery key", max: Limits.discoveryPairBytesMax)
      let pair = (key: key, value: try reader.text("discovery value", max: Limits.discoveryPairBytesMax))
      try Self.check(pair)
      if let last = pairs.last, last.key >= key { throw WireError(.notAscending(field: "discovery info")) }
      pairs.append(pair)
    }
    self.init(sorted: pairs)
    guard byteCount <= Limits.discoveryInfoBytesMax else {
      throw WireError(.discoveryInfoTooLong(bytes: byteCount))
    }
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(count: pairs.count, max: Limits.discoveryPairsMax)
    for pair in pairs {
      sink.put(text: pair.key, max: Limits.discoveryPairBytesMax)
      sink.put(text: pair.value, max: Limits.discoveryPairBytesMax)
    }
  }
}
