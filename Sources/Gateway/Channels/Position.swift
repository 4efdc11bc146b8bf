/// A position in a channel: changes are numbered without a gap in an epoch; numbers of another epoch say nothing.
struct Position: Hashable, Sendable, CustomStringConvertible {
  var epoch: String
  var offset: UInt64

  init(epoch: String, offset: UInt64) {
    self.epoch = epoch
    self.offset = offset
  }

  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy(Secrets.isEpochByte),
      let offset = UInt64(parts[1]), String(offset) == parts[1]
    else {
      return nil
    }
    self.init(epoch: String(parts[0]), offset: offset)
  }

  var description: String { epoch + "." + String(offset) }
}

extension Position {
  static func parsing(_ text: String, field: String) throws(Problem) -> Position {
    guard let position = Position(text) else {
      throw Problem(
        .invalidParameter,
        "\(QuotedText.of(text)) is no position: take it from 'position' of an earlier answer, as it is",
        field: field, rule: "position")
    }
    return position
  }
}
