public import Wire

/// The service record of a host, in the database of its device (SDP): a class of our own, an RFCOMM channel, and the host's ID.
public struct HostRecord: Hashable, Sendable {
  public let host: HostID
  public let channel: UInt8

  /// The class, made up once. It is not that of serial ports (SPP), which pairing tools and drivers take for a modem.
  public static let service: [UInt8] = [
    0xD3, 0x0A, 0x9C, 0x51, 0x6B, 0x1E, 0x4F, 0x0C, 0x8E, 0x27, 0x5A, 0x9F, 0x44, 0xB0, 0x71, 0xE8,
  ]
  static let protocolsAttribute: UInt16 = 0x0004
  /// The first of the attributes that a service defines for itself: the host's ID, as text.
  public static let hostAttribute: UInt16 = 0x0300
  public static let name = "Vicinity"
  private static let rfcomm: UInt128 = 0x0003_0000_1000_8000_0080_5F9B_34FB

  public init(_ host: HostID, channel: UInt8) {
    self.host = host
    self.channel = channel
  }

  static func text(_ uuid: [UInt8]) -> String {
    let digits = uuid.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
  }

  /// The class by which bluetoothd knows the host: each has one of its own there, since it may refuse one that it has.
  static func text(of host: HostID) -> String {
    text(
      [host.raw.high, host.raw.low].flatMap { word in
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
      })
  }

  /// For `ProfileManager1` of bluetoothd.
  var xml: String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <record>
    <attribute id="0x0001"><sequence><uuid value="\(Self.text(Self.service))"/></sequence></attribute>
    <attribute id="0x0004"><sequence><sequence><uuid value="0x0100"/></sequence>
    <sequence><uuid value="0x0003"/><uint8 value="0x\(String(channel, radix: 16))"/></sequence></sequence></attribute>
    <attribute id="0x0005"><sequence><uuid value="0x1002"/></sequence></attribute>
    <attribute id="0x0100"><text value="\(Self.name)"/></attribute>
    <attribute id="0x0300"><text value="\(host.text)"/></attribute>
    </record>
    """
  }

  /// Reads the attributes of a record, each a number and a value; nil for one that is not of a host.
  init?(_ attributes: DataElements) {
    var attributes = attributes
    var (host, channel): (HostID?, UInt8?) = (nil, nil)
    while let name = attributes.next(), let value = attributes.next() {
      switch (name, value) {
      case (.number(UInt64(Self.protocolsAttribute)), .sequence(let protocols)): channel = Self.channel(protocols)
      case (.number(UInt64(Self.hostAttribute)), .text(let text)): host = Self.host(text)
      default: break
      }
    }
    guard let host, let channel else { return nil }
    self.init(host, channel: channel)
  }

  /// The channel in a list of protocols, each a sequence of its UUID and its parameters.
  private static func channel(_ protocols: DataElements) -> UInt8? {
    for case .sequence(var one) in protocols where one.next() == .uuid(rfcomm) {
      if case .number(let channel)? = one.next(), (1...30).contains(channel) { return UInt8(channel) }
    }
    return nil
  }

  /// Its text may end with a zero, as strings of C do.
  private static func host(_ text: [UInt8]) -> HostID? {
    guard let word = String(validating: text.prefix { $0 != 0 }, as: UTF8.self), let id = try? ID128(text: word) else {
      return nil
    }
    return HostID(id)
  }
}
