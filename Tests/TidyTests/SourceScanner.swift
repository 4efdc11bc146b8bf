/// Parts the text of a Swift file into its code and its comments, so that a rule about the one is not fooled by the
/// other, nor by a string. Both keep the shape of the text: what does not belong to them is blank, line by line.
struct SourceScanner {
  private(set) var code: [UInt8]
  private(set) var comments: [UInt8]
  private let text: [UInt8]
  private var position = 0
  /// The syntax around the position, outermost first; the first element is always code.
  private var surroundings: [Surrounding] = [.code(openParentheses: 0)]

  private enum Surrounding {
    /// Inside an interpolation at least one parenthesis is open: its own.
    case code(openParentheses: Int)
    case string(hashes: Int, quotes: Int)
  }

  init(_ source: String) {
    text = Array(source.utf8)
    let blank = text.map { $0 == newline ? newline : space }
    code = blank
    comments = blank
    scan()
  }

  private mutating func scan() {
    while position < text.count {
      switch surroundings[surroundings.count - 1] {
      case .code(let open): scanCode(openParentheses: open)
      case .string(let hashes, let quotes): scanString(hashes: hashes, quotes: quotes)
      }
    }
  }

  private mutating func scanCode(openParentheses open: Int) {
    if !opening.contains(text[position]) {
      take(openParentheses: open)
    } else if at("//") {
      comment(until: endOfLine)
    } else if at("/*") {
      comment(until: endOfBlockComment)
    } else if let marks = stringOpening {
      surroundings.append(.string(hashes: marks.hashes, quotes: marks.quotes))
      position += marks.hashes + marks.quotes
    } else if at("#/") {
      skip(past: "/#")
    } else if at("`") {
      position += 1
      skip(past: "`")
    } else {
      take(openParentheses: open)
    }
  }

  /// Takes one byte as code; the parenthesis that closes an interpolation leads back into its string.
  private mutating func take(openParentheses open: Int) {
    let byte = text[position]
    code[position] = byte
    position += 1
    guard surroundings.count > 1 else { return }
    let nowOpen = byte == UInt8(ascii: "(") ? open + 1 : byte == UInt8(ascii: ")") ? open - 1 : open
    surroundings[surroundings.count - 1] = .code(openParentheses: nowOpen)
    if nowOpen == 0 { surroundings.removeLast() }
  }

  private mutating func scanString(hashes: Int, quotes: Int) {
    guard closing.contains(text[position]) else {
      position += 1
      return
    }
    let marks = String(repeating: "#", count: hashes)
    if at(String(repeating: "\"", count: quotes) + marks) {
      position += quotes + hashes
      surroundings.removeLast()
    } else if at("\\" + marks + "(") {
      position += hashes + 2
      surroundings.append(.code(openParentheses: 1))
    } else if at("\\" + marks) {
      position += hashes + 2
    } else if quotes == 1, text[position] == newline {
      surroundings.removeLast()
    } else {
      position += 1
    }
  }

  /// The marks that open a string here: none or more `#`, then one quote or three.
  private var stringOpening: (hashes: Int, quotes: Int)? {
    var hashes = 0
    while position + hashes < text.count, text[position + hashes] == UInt8(ascii: "#") { hashes += 1 }
    let quote = position + hashes
    guard quote < text.count, text[quote] == UInt8(ascii: "\"") else { return nil }
    return (hashes, at("\"\"\"", from: quote) ? 3 : 1)
  }

  private var endOfLine: Int {
    text[position...].firstIndex(of: newline) ?? text.count
  }

  private var endOfBlockComment: Int {
    var depth = 0
    var end = position
    while end < text.count {
      if at("/*", from: end) {
        depth += 1
        end += 2
      } else if at("*/", from: end) {
        depth -= 1
        end += 2
        if depth == 0 { break }
      } else {
        end += 1
      }
    }
    return end
  }

  private mutating func comment(until end: Int) {
    comments.replaceSubrange(position..<end, with: text[position..<end])
    position = end
  }

  private mutating func skip(past mark: String) {
    while position < text.count, !at(mark) { position += 1 }
    position += mark.utf8.count
  }

  private func at(_ mark: String, from start: Int? = nil) -> Bool {
    text[min(start ?? position, text.count)...].starts(with: mark.utf8)
  }
}

/// The bytes that may begin something else than code, and those that may end or part a string.
private let opening = Array("/#\"`".utf8)
private let closing = Array("\"\\\n".utf8)
private let newline = UInt8(ascii: "\n")
private let space = UInt8(ascii: " ")
