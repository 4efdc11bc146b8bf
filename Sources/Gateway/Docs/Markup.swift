/// HTML in which every text that is inserted is escaped.
struct Markup: ExpressibleByStringInterpolation, Sendable {
  private(set) var text: String

  init(stringLiteral value: String) { text = value }
  init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

  /// The parts, one after the other.
  init(_ parts: some Sequence<Markup>) { text = parts.map(\.text).joined() }

  static func += (markup: inout Markup, more: Markup) { markup.text += more.text }

  var bytes: [UInt8] { Array(text.utf8) }

  struct StringInterpolation: StringInterpolationProtocol {
    fileprivate(set) var text = ""

    init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    mutating func appendLiteral(_ literal: String) { text += literal }
    mutating func appendInterpolation(_ markup: Markup) { text += markup.text }

    mutating func appendInterpolation(_ value: String) {
      for character in value.unicodeScalars {
        switch character {
        case "&": text += "&amp;"
        case "<": text += "&lt;"
        case ">": text += "&gt;"
        case "\"": text += "&quot;"
        case "'": text += "&#39;"
        default: text.unicodeScalars.append(character)
        }
      }
    }
  }
}

extension Markup {
  /// Paragraphs with an empty line between them, lists of lines that begin with `- `, `code` and [links](to), whose
  /// paths are below a base path.
  init(prose: String, below base: String = "") {
    self = ""
    for paragraph in prose.split(separator: "\n\n") {
      let lines = paragraph.split(separator: "\n")
      if lines.allSatisfy({ $0.hasPrefix("- ") || $0.hasPrefix("  ") }) {
        let entries = lines.reduce(into: [String]()) { entries, line in
          if line.hasPrefix("- ") {
            entries.append(String(line.dropFirst(2)))
          } else if !entries.isEmpty {
            entries[entries.count - 1] += " " + line.drop { $0 == " " }
          }
        }
        self += "<ul>\(Markup(entries.map { "<li>\(Markup(line: $0[...], below: base))</li>" }))</ul>"
      } else {
        self += "<p>\(Markup(line: lines.joined(separator: " ")[...], below: base))</p>"
      }
    }
  }

  /// A line with `code` and [links](to) in it.
  init(line: Substring, below base: String = "") {
    self = ""
    var rest = line
    while let place = rest.firstIndex(where: { $0 == "`" || $0 == "[" }) {
      self += "\(String(rest[..<place]))"
      let inside = rest[rest.index(after: place)...]
      if rest[place] == "`", let end = inside.firstIndex(of: "`") {
        self += "<code>\(String(inside[..<end]))</code>"
        rest = inside[inside.index(after: end)...]
      } else if rest[place] == "[", let (name, target, after) = Self.link(inside) {
        self += "<a href=\"\(target.hasPrefix("/") ? base + target : target)\">\(name)</a>"
        rest = after
      } else {
        self += "\(String(rest[place]))"
        rest = inside
      }
    }
    self += "\(String(rest))"
  }

  private static func link(_ text: Substring) -> (name: String, target: String, rest: Substring)? {
    guard let middle = text.firstRange(of: "]("), let end = text[middle.upperBound...].firstIndex(of: ")") else {
      return nil
    }
    let target = text[middle.upperBound..<end]
    guard target.hasPrefix("/") || target.hasPrefix("#") || target.hasPrefix("https://") else { return nil }
    return (String(text[..<middle.lowerBound]), String(target), text[text.index(after: end)...])
  }
}
