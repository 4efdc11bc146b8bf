/// Follows the requests that go through a tunnel, to know where the content of a long one begins and ends: all of that
/// but its first piece goes past the library.
///
/// Laws:
/// - A head goes in when all of it is there, as it came. Only where its content is long, the length is taken out of it, and
///   the library is told where the content ends.
/// - What this does not know goes in as it came, and so does all that follows.
struct RequestFlow {
  private enum Place {
    case head
    /// In a content that goes in, of which so much is still to come.
    case content(Int)
    /// Before the first piece of a long content of so many bytes.
    case longContent(Int)
    /// Behind that piece.
    case beside(Int)
    case unknown
  }

  private let bypass: Bypass
  private let headBytesMax: Int
  private var place = Place.head
  /// What has come of a head.
  private var kept: [UInt8] = []

  init(_ bypass: Bypass, headBytesMax: Int) {
    self.bypass = bypass
    self.headBytesMax = headBytesMax
  }

  /// What has come and not been given in: to be read by whoever takes the connection over.
  mutating func takeKept() -> [UInt8] {
    defer { kept = [] }
    return kept
  }

  /// What is still to come of a content that goes past the library, until that has ended.
  var bytesBeside: Int? {
    if case .beside(let left) = place { left } else { nil }
  }

  /// So much of it has come.
  mutating func wentBeside(_ count: Int) {
    guard case .beside(let left) = place else { preconditionFailure("nothing goes past the library") }
    place = .beside(left - count)
  }

  /// All of it was taken; false where the library has hung up.
  mutating func endBeside(_ inner: inout InnerEnd) -> Bool {
    place = .head
    bypass.end()
    return inner.give("0\r\n\r\n")
  }

  /// Gives in what of these bytes is to go in, which are fewer than a long content has; false where the library has hung
  /// up.
  mutating func take(_ bytes: UnsafeRawBufferPointer, to inner: inout InnerEnd) -> Bool {
    if kept.isEmpty { return follow(bytes, searched: 0, to: &inner) }
    let searched = kept.count
    kept += bytes
    let all = kept
    kept = []
    return all.withUnsafeBytes { follow($0, searched: searched, to: &inner) }
  }

  /// In the head with which they begin, no end is among the bytes that were searched.
  private mutating func follow(_ bytes: UnsafeRawBufferPointer, searched: Int, to inner: inout InnerEnd) -> Bool {
    var isOpen = true
    /// Before here all is given in.
    var given = 0
    var at = 0
    func give(upTo end: Int) {
      if end > given { isOpen = inner.give(UnsafeRawBufferPointer(rebasing: bytes[given..<end])) && isOpen }
      given = end
    }
    while at < bytes.count {
      switch place {
      case .head:
        guard let end = RequestHead.end(in: bytes, from: max(at, searched - 3)) else {
          if bytes.count - at > headBytesMax {
            place = .unknown
            break
          }
          kept = Array(bytes[at...])
          give(upTo: at)
          return isOpen
        }
        switch RequestHead.content(of: bytes[at..<end]) {
        case .none: break
        case .unknown: place = .unknown
        case .bytes(let count, _) where count <= Bypass.bytesMin: place = .content(count)
        case .bytes(let count, let length):
          give(upTo: length.lowerBound)
          isOpen = inner.give("Transfer-Encoding: chunked") && isOpen
          given = length.upperBound
          bypass.announce(count)
          place = .longContent(count)
        }
        at = end
      case .content(let left):
        let count = min(left, bytes.count - at)
        place = left == count ? .head : .content(left - count)
        at += count
      case .longContent(let left):
        give(upTo: at)
        let count = bytes.count - at
        isOpen = inner.give("\(String(count, radix: 16))\r\n") && isOpen
        give(upTo: bytes.count)
        isOpen = inner.give("\r\n") && isOpen
        bypass.begins(after: count)
        place = .beside(left - count)
        return isOpen
      case .beside: preconditionFailure("what goes past the library is not given in")
      case .unknown: at = bytes.count
      }
    }
    give(upTo: at)
    return isOpen
  }
}

extension InnerEnd {
  mutating func give(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { give(UnsafeRawBufferPointer($0)) }
  }
}
