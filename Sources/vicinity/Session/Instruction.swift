/// An instruction for a session, read from a line on standard input.
enum Instruction: Equatable, Sendable {
  case say(String)
  case tell(String, to: String)
  case send(path: String, to: String?)
  case stream(name: String, to: String?)
  /// Accepts an invitation, an offered file or a comparison; without a number, the oldest that waits.
  case accept(Int?)
  case decline(Int?)
  case cancel(Int?)
  case compare(String)
  case clock
  /// Beats a minute, by the shared clock; 0 stops it, and without a number it starts or stops.
  case metronome(Int?)
  case peers
  case nearby(NearbyFilter)
  case invite(String)
  case done
  case leave
  case quit
  case help

  struct Kind: Sendable {
    let name: String
    let usage: String
    let summary: String
  }

  static let kinds = [
    Kind(name: "say", usage: "/say TEXT", summary: "send a message to all; a line without a slash does the same"),
    Kind(name: "to", usage: "/to NAME TEXT", summary: "send a message to one; quotation marks keep a name together"),
    Kind(
      name: "send", usage: "/send PATH [to NAME]",
      summary: "send a file, or the content of a URL; by default to all"),
    Kind(name: "stream", usage: "/stream NAME [to NAME]", summary: "send the following lines as a stream, until /end"),
    Kind(
      name: "accept", usage: "/accept [N]",
      summary: "accept an invitation, a file, or a code or number that matches"),
    Kind(name: "decline", usage: "/decline [N]", summary: "decline it"),
    Kind(
      name: "cancel", usage: "/cancel [N]",
      summary: "cancel a file transfer; without a number, in 'gather': give up"),
    Kind(name: "compare", usage: "/compare NAME", summary: "verify a member: both sides must show the same code"),
    Kind(name: "clock", usage: "/clock", summary: "the clock that all members share, and its error bound"),
    Kind(
      name: "metronome", usage: "/metronome [BEATS]",
      summary: "beat by the shared clock, in time with other members; again to stop"),
    Kind(name: "peers", usage: "/peers", summary: "list the connected peers"),
    Kind(name: "nearby", usage: "/nearby [WORD…]", summary: "list the nearby peers with their state"),
    Kind(name: "invite", usage: "/invite NAME", summary: "invite a nearby peer into the session"),
    Kind(name: "done", usage: "/done", summary: "in 'gather': end the list and start the session"),
    Kind(name: "leave", usage: "/leave", summary: "leave the session, and keep running"),
    Kind(name: "quit", usage: "/quit", summary: "leave the session, and exit"),
    Kind(name: "help", usage: "/help", summary: "this list"),
  ]

  /// The line that ends a stream.
  static let end = "/end"

  /// Parses a line; nil for an empty one. `isFile` says whether a path leads to an existing file.
  init?(_ line: String, slashMayBeMissing: Bool, isFile: (String) -> Bool) throws(UsageError) {
    var rest = line[...]
    let hasSlash = rest.first == "/"
    if hasSlash { rest = rest.dropFirst() }
    if !hasSlash, !slashMayBeMissing {
      if rest.allSatisfy({ $0 == " " }) { return nil }
      self = .say(line)
      return
    }
    let name = String(rest.prefix { $0 != " " })
    rest = rest.dropFirst(name.count).dropFirst()
    if name.isEmpty, !hasSlash { return nil }
    let words = String(rest)
    let trimmed = Self.trimmed(words)
    switch name {
    case "say": self = .say(words)
    case "to": self = try Self.parseTell(words)
    case "send":
      let (path, to) = try Self.parseRecipient(trimmed, "a file", "/send PATH [to NAME]", isFile)
      self = .send(path: path, to: to)
    case "stream":
      let (stream, to) = try Self.parseRecipient(trimmed, "a stream", "/stream NAME [to NAME]") { _ in false }
      self = .stream(name: stream, to: to)
    case "accept": self = .accept(try Self.number(trimmed))
    case "decline": self = .decline(try Self.number(trimmed))
    case "cancel": self = .cancel(try Self.number(trimmed))
    case "compare":
      if trimmed.isEmpty { throw UsageError("Whom to compare with is missing: /compare NAME.") }
      self = .compare(trimmed)
    case "clock": self = .clock
    case "metronome":
      let beats = try Self.number(trimmed)
      guard beats.map({ Metronome.beats.contains($0) || $0 == 0 }) ?? true else {
        throw UsageError(
          "A metronome has \(Metronome.beats.lowerBound) to \(Metronome.beats.upperBound) beats a minute, or 0 to stop it."
        )
      }
      self = .metronome(beats)
    case "peers": self = .peers
    case "nearby": self = .nearby(NearbyFilter(words: trimmed.split(separator: " ").map(String.init)))
    case "invite":
      if trimmed.isEmpty { throw UsageError("Whom to invite is missing: /invite NAME.") }
      self = .invite(trimmed)
    case "done": self = .done
    case "leave": self = .leave
    case "quit": self = .quit
    case "help": self = .help
    default:
      let hint = Suggestion.hint(for: name, among: Self.kinds.map(\.name)) { "/\($0)" }
      throw UsageError("There is no '/\(PlainText.brief(name))' here.\(hint) /help lists what there is.")
    }
  }

  private static func trimmed(_ text: String) -> String {
    let head = text.drop { $0 == " " }
    return String(head.reversed().drop { $0 == " " }.reversed())
  }

  private static func number(_ text: String) throws(UsageError) -> Int? {
    if text.isEmpty { return nil }
    guard let number = Int(text) else {
      throw UsageError("'\(PlainText.brief(text))' is not a number: use the one that the question shows.")
    }
    return number
  }

  /// Parses a recipient, in quotation marks where it has several words, and the text behind it.
  private static func parseTell(_ words: String) throws(UsageError) -> Instruction {
    let head = words.drop { $0 == " " }
    let mark = head.first.flatMap { $0 == "\"" || $0 == "'" ? $0 : nil }
    let name = head.dropFirst(mark == nil ? 0 : 1).prefix { $0 != mark ?? " " }
    let rest = head.dropFirst(name.count + (mark == nil ? 0 : 2))
    guard !name.isEmpty, rest.count > 1, rest.first == " " else {
      throw UsageError("Whom to tell, or what, is missing: /to NAME TEXT.")
    }
    return .tell(String(rest.dropFirst()), to: String(name))
  }

  /// Parses an object and, behind the last "to", a recipient. Quotation marks keep text together that has a "to" in it.
  private static func parseRecipient(
    _ text: String, _ what: String, _ usage: String, _ isFile: (String) -> Bool
  ) throws(UsageError) -> (String, String?) {
    if text.isEmpty { throw UsageError("\(what) is missing: \(usage).") }
    if let mark = text.first, mark == "\"" || mark == "'" {
      let inside = text.dropFirst().prefix { $0 != mark }
      let behind = trimmed(String(text.dropFirst(inside.count + 2)))
      guard !inside.isEmpty, text.count > inside.count + 1, behind.isEmpty || behind.hasPrefix("to ") else {
        throw UsageError("The quotation marks are not in pairs around \(what): \(usage).")
      }
      return (String(inside), behind.isEmpty ? nil : trimmed(String(behind.dropFirst(3))))
    }
    if isFile(text) { return (text, nil) }
    guard let to = text.ranges(of: " to ").last else { return (text, nil) }
    return (trimmed(String(text[..<to.lowerBound])), trimmed(String(text[to.upperBound...])))
  }
}
