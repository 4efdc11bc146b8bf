internal import CBluetooth
internal import Glibc
internal import Wire

/// The service record of a host, in the database of its device (SDP): a class of our own, an RFCOMM channel, and the host's ID.
struct HostRecord: Hashable {
  let host: HostID
  let channel: UInt8

  /// The class, made up once. It is not that of serial ports (SPP), which pairing tools and drivers take for a modem.
  static let service: [UInt8] = [
    0xD3, 0x0A, 0x9C, 0x51, 0x6B, 0x1E, 0x4F, 0x0C, 0x8E, 0x27, 0x5A, 0x9F, 0x44, 0xB0, 0x71, 0xE8,
  ]
  /// The first of the attributes that a service defines for itself: the host's ID, as text.
  static let hostAttribute: UInt16 = 0x0300
  static let name = "Vicinity"

  static var serviceUUID: uuid_t {
    var uuid = uuid_t()
    sdp_uuid128_create(&uuid, service)
    return uuid
  }

  static func text(_ uuid: [UInt8]) -> String {
    let digits = uuid.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
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

  /// Reads a record that a device has sent; nil for one that is not of a host.
  init?(_ record: UnsafeMutablePointer<sdp_record_t>) {
    var protocols: UnsafeMutablePointer<sdp_list_t>?
    guard sdp_get_access_protos(record, &protocols) == 0 else { return nil }
    let port = sdp_get_proto_port(protocols, RFCOMM_UUID)
    sdp_list_foreach(protocols, { list, _ in sdp_list_free(list?.assumingMemoryBound(to: sdp_list_t.self), nil) }, nil)
    sdp_list_free(protocols, nil)
    guard (1...30).contains(port), let data = sdp_data_get(record, Self.hostAttribute),
      data.pointee.dtd == SDP_TEXT_STR8, let text = data.pointee.val.str, data.pointee.unitSize >= ID128.textLength
    else { return nil }
    // The library ends the text with a zero.
    let word = UnsafeBufferPointer(start: text, count: strnlen(text, ID128.textLength + 1))
    guard let id = try? ID128(text: String(decoding: word.map { UInt8(bitPattern: $0) }, as: UTF8.self)) else {
      return nil
    }
    host = HostID(id)
    channel = UInt8(port)
  }

  init(_ host: HostID, channel: UInt8) {
    self.host = host
    self.channel = channel
  }
}
