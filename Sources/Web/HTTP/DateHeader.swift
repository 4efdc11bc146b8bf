internal import Glibc

/// The `Date` header of a response (RFC 9110 §5.6.7).
///
/// Invariant: it is formatted once for each second, and not for each response.
struct DateHeader {
  private(set) var second: time_t
  private(set) var text: String

  init(at second: time_t) {
    var (second, parts) = (second, tm())
    gmtime_r(&second, &parts)
    self.second = second
    text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { room in
      let count = strftime(room.baseAddress, room.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      return String(decoding: UnsafeRawBufferPointer(room)[..<count], as: UTF8.self)
    }
  }

  mutating func update(to second: time_t = time(nil)) {
    if second != self.second { self = DateHeader(at: second) }
  }
}
