internal import Nearby
internal import Notation

/// Events of transfers: files and streams. Each has a number in this run.
extension Event {
  enum Direction: String, Sendable {
    case incoming = "in"
    case outgoing = "out"
  }

  /// The description of a transfer in each event about it.
  struct Transfer: Sendable {
    let number: Int
    let direction: Direction
    let member: Member
    let label: String
    /// The file's name, as its sender gives it.
    let name: String
    var type: String?
    var size: UInt64?
  }

  static func resource(_ transfer: Transfer, isTaken: Bool, isResumed: Bool = false) -> Event {
    about(
      transfer, "resource",
      [
        transfer.type.map { .text("type", $0) }, transfer.size.map { .number("size", $0) }, .bool("accepted", isTaken),
        isResumed ? .bool("resumed", true) : nil,
      ]
    ) { paint in
      let what = PlainText.line(transfer.name) + (transfer.size.map { ", \(Quantity.bytes($0))" } ?? "")
      let name = paint.named(transfer.member, transfer.label)
      if isResumed { return ["\(what) \(transfer.direction == .outgoing ? "to" : "from") \(name) goes on"] }
      if transfer.direction == .outgoing { return ["offering \(what) to \(name)"] }
      let (yes, no) = (paint(.strong, "/accept \(transfer.number)"), paint(.strong, "/decline \(transfer.number)"))
      return ["\(name) \(isTaken ? "sends" : "offers") \(what)\(isTaken ? "" : ". \(yes) or \(no)")"]
    }
  }

  /// The progress of a transfer; people see a progress bar in its place.
  static func progress(_ transfer: Transfer, _ progress: Progress) -> Event {
    about(
      transfer, "progress",
      [
        .number("bytes", progress.bytes), progress.size.map { .number("size", $0) },
        .number("bytesPerSecond", progress.bytesPerSecond),
        progress.timeLeft.map { .number("secondsLeft", Int($0.components.seconds)) },
      ]
    ) { _ in [] }
  }

  static func resourceEnded(_ transfer: Transfer, _ ending: Failure?, path: String?) -> Event {
    about(
      transfer, "resourceEnded",
      [
        .text("reason", ending.map { $0.reason ?? $0.error.map { "\($0)" } ?? "unknown" } ?? "none"),
        path.map { .text("path", $0) },
        ending.map { .text("text", $0.sentence) },
      ]
    ) { paint in
      let what = PlainText.line(transfer.name)
      let name = paint.named(transfer.member, transfer.label)
      if let ending {
        let side = transfer.direction == .outgoing ? "to" : "from"
        return ["\(paint(.bad, "not there: ")) \(what) \(side) \(name): \(PlainText.line(ending.sentence))"]
      }
      if let path { return ["\(what) from \(name) is here: \(PlainText.line(path))"] }
      return ["\(name) has \(what)"]
    }
  }

  private static func about(
    _ transfer: Transfer, _ event: String, _ more: [JSON.Member?], _ lines: @escaping @Sendable (Paint) -> [String]
  ) -> Event {
    about(
      transfer.member, event, .news,
      [
        .number("number", transfer.number), .text("direction", transfer.direction.rawValue),
        .text("resource", transfer.name),
      ] + more, lines)
  }

  // MARK: Streams

  static func stream(_ transfer: Transfer) -> Event {
    about(transfer.member, "stream", .news, streamMembers(transfer)) { paint in
      let name = paint.named(transfer.member, transfer.label)
      let what = PlainText.line(transfer.name)
      return [
        transfer.direction == .incoming ? "\(name) streams \(what)" : "streaming \(what) to \(name)"
      ]
    }
  }

  static func streamBytes(_ transfer: Transfer, _ bytes: [UInt8]) -> Event {
    about(
      transfer.member, "streamBytes", .result,
      streamMembers(transfer) + [.number("size", bytes.count), .bytes("text", bytes)]
    ) { _ in [] }
  }

  /// Lines of a stream for people.
  static func streamLines(_ transfer: Transfer, _ lines: [String]) -> Event {
    Event("", .result) { paint in
      lines.map {
        "\(paint.named(transfer.member, transfer.label)) \(paint(.faint, PlainText.line(transfer.name))) │ \($0)"
      }
    }
  }

  static func streamEnded(_ transfer: Transfer, _ reason: Reason, bytes: UInt64) -> Event {
    about(transfer.member, "streamEnded", .news, streamMembers(transfer) + [.number("bytes", bytes), .reason(reason)]) {
      paint in
      let name = paint.named(transfer.member, transfer.label)
      let what = "\(PlainText.line(transfer.name)), \(Quantity.bytes(bytes)),"
      let side = transfer.direction == .outgoing ? "to" : "from"
      return ["the stream \(what) \(side) \(name) ended\(reason == .none ? "" : ": \(reason.sentence)")"]
    }
  }

  private static func streamMembers(_ transfer: Transfer) -> [JSON.Member?] {
    [
      .number("number", transfer.number), .text("direction", transfer.direction.rawValue),
      .text("stream", transfer.name),
    ]
  }
}
