/// A head that is only looked through. What it is, and whether it may be so, the library and `Head` say.
enum RequestHead {
  enum Content: Equatable {
    case none
    /// And where the field stands that says so.
    case bytes(Int, field: Range<Int>)
    /// It is said in another way, or the head is none that all would read the same way.
    case unknown
  }

  /// Past the empty line; that begins at this index, or later.
  static func end(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var index = start + 3
    while index < bytes.count {
      if bytes[index] == .lineFeed, bytes[index - 1] == .carriageReturn, bytes[index - 2] == .lineFeed,
        bytes[index - 3] == .carriageReturn
      {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// Of a head with its empty line.
  static func content(of head: Slice<UnsafeRawBufferPointer>) -> Content {
    var content = Content.none
    var isFirst = true
    var rest = head.dropLast(2)
    while let end = rest.firstIndex(where: { $0 == .carriageReturn || $0 == .lineFeed }) {
      guard rest[end] == .carriageReturn, end + 1 < rest.endIndex, rest[end + 1] == .lineFeed else { return .unknown }
      let line = rest[..<end]
      rest = rest[(end + 2)...]
      if isFirst {
        isFirst = false
        guard line.ends(with: " HTTP/1.1") else { return .unknown }
        continue
      }
      guard let colon = line.firstIndex(where: { !$0.isTokenByte }), colon > line.startIndex,
        line[colon] == UInt8(ascii: ":")
      else { return .unknown }
      let name = line[..<colon]
      // Behind an upgrade, no requests follow.
      if name.isText("transfer-encoding") || name.isText("upgrade") { return .unknown }
      guard name.isText("content-length") else { continue }
      let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmed
      guard content == .none, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(value) else {
        return .unknown
      }
      content = .bytes(count, field: line.startIndex..<line.endIndex)
    }
    return content
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate func ends(with text: StaticString) -> Bool { suffix(text.utf8CodeUnitCount).isText(text) }

  /// Whatever the case of its letters.
  fileprivate func isText(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      zip(self, text).allSatisfy { $0.lowercased == $1.lowercased }
    }
  }
}
