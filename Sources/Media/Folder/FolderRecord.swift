internal import Wire

/// The content of a host's record in a shared folder: all that it announces, each with the strings of a DNS-SD record.
///
/// Form: `head`, then for each announcement its type, the number of its strings, and the strings, each text with a byte
/// of length before it.
struct FolderRecord: Hashable, Sendable {
  struct Entry: Hashable, Sendable {
    let type: ServiceType
    let announcement: Announcement

    var key: ServiceRecord.Key { ServiceRecord(announcement, type, port: 0).key }
  }

  var entries: [Entry] = []

  private static let head = Array("vicinity folder 1\n".utf8)
  /// More than the most peers that a host announces one by one, with the longest info, in a dozen types.
  static let bytesMax = 256 << 10
  static let entriesMax = 1_024

  init() {}

  /// Nil where it is too large.
  var bytes: [UInt8]? {
    var bytes = Self.head
    for entry in entries {
      bytes += [UInt8(entry.type.text.utf8.count)] + entry.type.text.utf8
      let txt = entry.announcement.txt
      bytes.append(UInt8(txt.count))
      for string in txt { bytes += [UInt8(string.count)] + string }
    }
    return bytes.count <= Self.bytesMax && entries.count <= Self.entriesMax ? bytes : nil
  }

  /// Reads what anybody may have written; nil where it is not a record of this host in all its parts.
  init?(_ bytes: [UInt8], of host: HostID) {
    guard bytes.starts(with: Self.head), bytes.count <= Self.bytesMax else { return nil }
    var rest = bytes[Self.head.count...]
    func take() -> ArraySlice<UInt8>? {
      guard let length = rest.popFirst(), rest.count >= length else { return nil }
      defer { rest = rest.dropFirst(Int(length)) }
      return rest.prefix(Int(length))
    }
    while !rest.isEmpty {
      guard entries.count < Self.entriesMax, let word = take(), let text = String(validating: word, as: UTF8.self),
        let type = try? ServiceType(text), let count = rest.popFirst()
      else { return nil }
      var strings: [[UInt8]] = []
      for _ in 0..<count {
        guard let string = take() else { return nil }
        strings.append(Array(string))
      }
      guard let announcement = try? Announcement(txt: strings), announcement.host == host else { return nil }
      entries.append(Entry(type: type, announcement: announcement))
    }
  }
}
