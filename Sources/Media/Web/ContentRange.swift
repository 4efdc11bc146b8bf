/// The part of the whole in a response: `bytes 500-999/2000`, or, of an unsatisfied request, `bytes */2000`.
struct ContentRange {
  let first: UInt64
  /// Nil where the response holds no part.
  let last: UInt64?
  /// Nil where the server does not say.
  let size: UInt64?

  init?(_ head: ResponseHead) {
    guard let value = head.value("content-range"), value.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = value.dropFirst("bytes ".count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    size = length(parts[1])
    if parts[0] == "*" {
      (first, last) = (0, nil)
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map(length)
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < size ?? .max else {
      return nil
    }
    (self.first, self.last) = (first, last)
  }
}

extension ResponseHead {
  /// Two fields must agree; an ambiguous length is refused.
  func bodyLength() throws(BodyDecoder.Fault) -> BodyDecoder.Length {
    let codings = values("transfer-encoding")
    let lengths = Set(values("content-length"))
    guard codings.isEmpty else {
      guard codings.map({ $0.lowercased() }) == ["chunked"], lengths.isEmpty else {
        throw BodyDecoder.Fault(description: "how long its body is, is said in two ways, or in one that is not known")
      }
      return .chunked
    }
    guard let text = lengths.first else { return .open }
    guard lengths.count == 1, let count = length(text[...]) else {
      throw BodyDecoder.Fault(description: "the length of its body is not a number")
    }
    return .known(count)
  }
}

/// Digits alone, and no more of them than any file needs, so that sums cannot overflow.
private func length(_ text: Substring) -> UInt64? {
  (1...18).contains(text.utf8.count) && text.utf8.allSatisfy(\.isDigit) ? UInt64(text) : nil
}
