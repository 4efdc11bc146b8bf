/// A line editor for input key by key.
struct LineEditor: Sendable {
  enum Action: Hashable, Sendable {
    case line(String)
    /// Ctrl-D on an empty line.
    case end
    /// The Tab key: the text before the cursor is to be completed.
    case complete
  }

  /// Limit for a line, more than a person types; input past it is left out.
  private static let charactersMax = 100_000
  private static let historyMax = 500

  private(set) var characters: [Character] = []
  private(set) var cursor = 0
  private var history: [String] = []
  /// The index of the history line that is shown; the end index for the new line.
  private var historyIndex = 0
  private var draft = ""
  private var killBuffer: [Character] = []
  private var sequence: [UInt8] = []
  private var letter: [UInt8] = []

  var text: String { String(characters) }

  /// The text before the cursor.
  var head: String { String(characters[..<cursor]) }

  mutating func feed(_ bytes: [UInt8]) -> [Action] {
    var actions: [Action] = []
    for byte in bytes {
      if let act = feed(byte) { actions.append(act) }
    }
    return actions
  }

  mutating func insert(_ text: String) {
    let fresh = Array(text).prefix(Self.charactersMax - characters.count)
    // Parts of one grapheme cluster may come one after another: they combine as soon as they stand together.
    let head = String(characters[..<cursor]) + String(fresh)
    let tail = characters[cursor...]
    characters = Array(head) + tail
    cursor = characters.count - tail.count
  }

  private mutating func feed(_ byte: UInt8) -> Action? {
    if !sequence.isEmpty {
      feedSequence(byte)
      return nil
    }
    if byte >= 0x80 {
      feedLetter(byte)
      return nil
    }
    letter = []
    switch byte {
    case 0x0A, 0x0D: return enter()
    case 0x01: cursor = 0
    case 0x02: cursor = max(0, cursor - 1)
    case 0x04:
      if characters.isEmpty { return .end }
      delete(at: cursor)
    case 0x05: cursor = characters.count
    case 0x06: cursor = min(characters.count, cursor + 1)
    case 0x08, 0x7F:
      if cursor > 0 {
        cursor -= 1
        delete(at: cursor)
      }
    case 0x09: return .complete
    case 0x0B: kill(cursor..<characters.count)
    case 0x0E: recall(historyIndex + 1)
    case 0x10: recall(historyIndex - 1)
    case 0x15: kill(0..<cursor)
    case 0x17: kill(wordStart..<cursor)
    case 0x19: insert(String(killBuffer))
    case 0x1B: sequence = [byte]
    case 0x20...0x7E: insert(String(UnicodeScalar(byte)))
    default: break
    }
    return nil
  }

  private mutating func enter() -> Action {
    let line = text
    if !line.isEmpty, history.last != line { history.append(line) }
    if history.count > Self.historyMax { history.removeFirst() }
    characters = []
    cursor = 0
    historyIndex = history.count
    draft = ""
    return .line(line)
  }

  private mutating func feedLetter(_ byte: UInt8) {
    // The first byte of a UTF-8 sequence gives its length.
    if byte >= 0xC0 { letter = [byte] } else { letter.append(byte) }
    guard let first = letter.first, first >= 0xC0 else { return letter = [] }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard letter.count >= length else { return }
    if let text = PlainText.text(of: letter) { insert(text) }
    letter = []
  }

  /// Feeds escape sequences: keys that a terminal sends as more than one byte.
  private mutating func feedSequence(_ byte: UInt8) {
    sequence.append(byte)
    if sequence.count == 2 {
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "O"): return
      case UInt8(ascii: "b"): cursor = wordStart
      case UInt8(ascii: "f"): cursor = wordEnd
      default: break
      }
      return sequence = []
    }
    // Numbers and semicolons continue a sequence; one that is longer than any key's is dropped.
    if (0x30...0x3B).contains(byte), sequence.count < 32 { return }
    let key = String(decoding: sequence.dropFirst(2), as: UTF8.self)
    sequence = []
    switch key {
    case "A": recall(historyIndex - 1)
    case "B": recall(historyIndex + 1)
    case "C": cursor = min(characters.count, cursor + 1)
    case "D": cursor = max(0, cursor - 1)
    case "H", "1~", "7~": cursor = 0
    case "F", "4~", "8~": cursor = characters.count
    case "3~": delete(at: cursor)
    case "1;5D", "1;3D": cursor = wordStart
    case "1;5C", "1;3C": cursor = wordEnd
    default: break
    }
  }

  private mutating func recall(_ wanted: Int) {
    guard (0...history.count).contains(wanted) else { return }
    if historyIndex == history.count { draft = text }
    historyIndex = wanted
    characters = Array(wanted == history.count ? draft : history[wanted])
    cursor = characters.count
  }

  private mutating func delete(at place: Int) {
    if place < characters.count { characters.remove(at: place) }
  }

  private mutating func kill(_ range: Range<Int>) {
    if range.isEmpty { return }
    killBuffer = Array(characters[range])
    characters.removeSubrange(range)
    cursor = range.lowerBound
  }

  private var wordStart: Int {
    var place = cursor
    while place > 0, characters[place - 1] == " " { place -= 1 }
    while place > 0, characters[place - 1] != " " { place -= 1 }
    return place
  }

  private var wordEnd: Int {
    var place = cursor
    while place < characters.count, characters[place] == " " { place += 1 }
    while place < characters.count, characters[place] != " " { place += 1 }
    return place
  }

  /// The part of the line that fits, and the column of the cursor in it.
  func shown(columns: Int) -> (text: String, column: Int) {
    var (start, width) = (cursor, 0)
    // One column stays free for the cursor behind the last letter.
    while start > 0, width + DisplayWidth.of(characters[start - 1]) < columns {
      start -= 1
      width += DisplayWidth.of(characters[start])
    }
    let column = width
    var end = cursor
    while end < characters.count, width + DisplayWidth.of(characters[end]) < columns {
      width += DisplayWidth.of(characters[end])
      end += 1
    }
    return (PlainText.line(String(characters[start..<end])), column)
  }
}
