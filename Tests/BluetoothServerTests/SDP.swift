import Wire

@testable import BluetoothServer

/// The answers of a device, as bytes.
enum SDP {
  static func sequence(_ content: [UInt8]) -> [UInt8] {
    content.count < 256
      ? [0x35, UInt8(content.count)] + content
      : [0x36, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
  }

  /// The attributes that bluetoothd gives, or others in their places.
  static func record(_ record: HostRecord, text: [UInt8]? = nil, parameters: [UInt8]? = nil) -> [UInt8] {
    let rfcomm = sequence([0x19, 0, 3] + (parameters ?? [0x08, record.channel]))
    let protocols = sequence(sequence([0x19, 1, 0]) + rfcomm)
    let host = Array(record.host.text.utf8)
    return sequence([9, 0, 4] + protocols + [9, 3, 0] + (text ?? [0x25, UInt8(host.count)] + host))
  }

  static func lists(_ records: [HostRecord]) -> [UInt8] { sequence(records.flatMap { record($0) }) }

  /// One packet, with the state by which the next request continues it.
  static func answer(_ lists: [UInt8], to transaction: UInt16 = 0, continuing state: [UInt8] = []) -> [UInt8] {
    let count = lists.count + state.count + 3
    return [7, UInt8(transaction >> 8), UInt8(transaction & 0xFF), UInt8(count >> 8), UInt8(count & 0xFF)]
      + [UInt8(lists.count >> 8), UInt8(lists.count & 0xFF)] + lists + [UInt8(state.count)] + state
  }
}
