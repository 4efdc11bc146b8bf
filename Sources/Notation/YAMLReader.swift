extension JSON {
  /// Accepts the unambiguous part of YAML 1.2: block maps and lists, flow ones that end on their line, plain and quoted
  /// texts, literal and folded blocks, comments.
  ///
  /// Anchors, tags, several documents, plain texts over several lines, and words that other versions of YAML read
  /// otherwise are refused with their line.
  public init(parsingYAML text: String) throws(NotationError) {
    var reader = YAMLReader(text)
    self = try reader.whole()
  }
}

private struct YAMLReader {
  private struct Line {
    let indent: Int
    /// Behind the indentation.
    let text: ArraySlice<UInt8>
  }

  private var lines: [[UInt8]]
  private var place = 0
  private var depth = 0

  init(_ text: String) {
    lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
  }

  mutating func whole() throws(NotationError) -> JSON {
    let value = try block(deeperThan: -1)
    if try peek() != nil { throw error("there is more after the value") }
    return value
  }

  private func error(_ what: String) -> NotationError { NotationError(what: what, place: place + 1, unit: .line) }

  // MARK: Lines

  /// The next line that is not empty.
  private mutating func peek() throws(NotationError) -> Line? {
    while place < lines.count {
      let line = lines[place]
      if line.last == UInt8(ascii: "\r") { throw error("the line ends with a carriage return") }
      let indent = line.prefix { $0 == .space }.count
      let text = line[indent...].trimmedAtEnd
      if text.isEmpty || text.first == UInt8(ascii: "#") {
        place += 1
        continue
      }
      if text.first == UInt8(ascii: "\t") { throw error("a tab indents the line, and only spaces may") }
      if indent == 0, text.elementsEqual("---".utf8) || text.elementsEqual("...".utf8) {
        throw error("a text holds one document, and no line that parts several")
      }
      return Line(indent: indent, text: text)
    }
    return nil
  }

  private static func isEntry(_ text: ArraySlice<UInt8>) -> Bool {
    text.first == UInt8(ascii: "-") && (text.count == 1 || text[text.startIndex + 1] == .space)
  }

  /// Whether only a comment follows.
  private static func isOver(_ text: ArraySlice<UInt8>) -> Bool { text.isEmpty || text.first == UInt8(ascii: "#") }

  // MARK: Blocks

  private mutating func block(deeperThan indent: Int) throws(NotationError) -> JSON {
    guard let line = try peek(), line.indent > indent else { return .null }
    depth += 1
    defer { depth -= 1 }
    if depth > JSON.depthMax { throw error("it is nested deeper than \(JSON.depthMax) levels") }
    if Self.isEntry(line.text) { return try list(at: line.indent) }
    if try key(of: line.text) != nil { return try map(at: line.indent) }
    let value = try inline(line.text)
    place += 1
    return value
  }

  private mutating func list(at indent: Int) throws(NotationError) -> JSON {
    var values: [JSON] = []
    while let line = try peek(), line.indent >= indent {
      guard line.indent == indent else { throw error("the line is indented more than what it belongs to") }
      guard Self.isEntry(line.text) else { throw error("an entry of the list, with '- ', should be here") }
      let rest = line.text.dropFirst().trimmedAtStart
      if Self.isOver(rest) {
        place += 1
        values.append(try block(deeperThan: indent))
      } else if let style = rest.first, style == UInt8(ascii: "|") || style == UInt8(ascii: ">") {
        values.append(try scalar(header: rest, deeperThan: indent))
      } else {
        // The text behind the dash is a block of its own, at its own depth.
        lines[place][indent] = .space
        values.append(try block(deeperThan: indent))
      }
    }
    return .list(values)
  }

  private mutating func map(at indent: Int) throws(NotationError) -> JSON {
    var members: [JSON.Member] = []
    var names: Set<String> = []
    while let line = try peek(), line.indent >= indent {
      guard line.indent == indent else { throw error("the line is indented more than what it belongs to") }
      guard !Self.isEntry(line.text), let (name, rest) = try key(of: line.text) else {
        throw error("a name with ':' should be here")
      }
      if !names.insert(name).inserted { throw error("the name '\(name)' is there twice") }
      members.append(JSON.Member(name, try value(rest, deeperThan: indent)))
    }
    return .object(members)
  }

  private mutating func value(_ rest: ArraySlice<UInt8>, deeperThan indent: Int) throws(NotationError) -> JSON {
    if Self.isOver(rest) {
      place += 1
      return try block(deeperThan: indent)
    }
    if rest.first == UInt8(ascii: "|") || rest.first == UInt8(ascii: ">") {
      return try scalar(header: rest, deeperThan: indent)
    }
    let value = try inline(rest)
    place += 1
    return value
  }

  /// A name at the beginning of a line, and the text after its colon.
  private func key(of text: ArraySlice<UInt8>) throws(NotationError) -> (name: String, rest: ArraySlice<UInt8>)? {
    if text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "[") { return nil }
    var flow = YAMLFlow(text, line: place + 1)
    guard let name = try flow.key() else { return nil }
    return (name, flow.rest.trimmedAtStart)
  }

  private func inline(_ text: ArraySlice<UInt8>) throws(NotationError) -> JSON {
    var flow = YAMLFlow(text, line: place + 1)
    return try flow.whole()
  }

  // MARK: Literal and folded texts

  private mutating func scalar(header: ArraySlice<UInt8>, deeperThan indent: Int) throws(NotationError) -> JSON {
    let isFolded = header.first == UInt8(ascii: ">")
    var rest = header.dropFirst()
    let isStripped = rest.first == UInt8(ascii: "-")
    if isStripped { rest = rest.dropFirst() }
    guard Self.isOver(rest.trimmedAtStart) else { throw error("only '|', '|-', '>' and '>-' begin a block of text") }
    place += 1
    let text = isFolded ? folded(try taken(deeperThan: indent)) : try taken(deeperThan: indent).joined(separator: "\n")
    return .text(isStripped || text.isEmpty ? text : text + "\n")
  }

  /// Its lines, without the indentation of the first; empty ones at the end are dropped.
  private mutating func taken(deeperThan indent: Int) throws(NotationError) -> [String] {
    var texts: [String] = []
    var own: Int?
    while place < lines.count {
      let line = lines[place]
      let deep = line.prefix { $0 == .space }.count
      if deep == line.count {
        texts.append("")
      } else {
        let start = own ?? deep
        if start <= indent || deep <= indent { break }
        if deep < start { throw error("the line is indented less than the first of its text") }
        own = start
        texts.append(String(decoding: line[start...], as: UTF8.self))
      }
      place += 1
    }
    while texts.last == "" { texts.removeLast() }
    return texts
  }

  /// One line of each paragraph; lines that are indented further stand by themselves.
  private func folded(_ lines: [String]) -> String {
    var text = ""
    var empty = 0
    var before: String?
    for line in lines {
      if line.isEmpty {
        empty += 1
        continue
      }
      if let before {
        let isKept = before.hasPrefix(" ") || line.hasPrefix(" ")
        text +=
          isKept ? String(repeating: "\n", count: empty + 1) : empty == 0 ? " " : String(repeating: "\n", count: empty)
      }
      text += line
      before = line
      empty = 0
    }
    return text
  }
}

extension UInt8 {
  static let space = UInt8(ascii: " ")
}

extension ArraySlice<UInt8> {
  var trimmedAtStart: ArraySlice<UInt8> { drop { $0 == .space } }

  var trimmedAtEnd: ArraySlice<UInt8> {
    var rest = self
    while rest.last == .space { rest.removeLast() }
    return rest
  }
}
