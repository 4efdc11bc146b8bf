internal import Nearby

/// The nearest known word for an unknown one.
enum Suggestion {
  /// Nil without a near word.
  static func nearest(to word: String, among words: [String]) -> String? {
    let candidates = words.map { (word: $0, distance: distance(word.lowercased(), $0)) }
    let best = candidates.min { ($0.distance, $0.word) < ($1.distance, $1.word) }
    if let best, best.distance <= max(1, min(3, word.count / 3)) { return best.word }
    let longer = words.filter { word.count >= 2 && $0.hasPrefix(word.lowercased()) }
    return longer.count == 1 ? longer[0] : nil
  }

  /// A hint to append to a sentence about an unknown word.
  static func hint(for word: String, among words: [String], _ form: (String) -> String = { $0 }) -> String {
    nearest(to: word, among: words).map { " Did you mean '\(form($0))'?" } ?? ""
  }

  /// The problem with a service type, and a suggestion; nil for a valid one.
  static func fault(ofType text: String) -> String? {
    do {
      _ = try ServiceType(text)
      return nil
    } catch {
      let hint = type(near: text).map { " Did you mean '\($0)'?" } ?? ""
      return "\(error)\(hint)"
    }
  }

  /// A type from another notation: in capitals, with spaces and underscores, or as in DNS, `_chat._tcp.local`.
  private static func type(near text: String) -> String? {
    var words = text.lowercased()
    if words.hasPrefix("_"), let end = words.firstRange(of: "._") { words = String(words[..<end.lowerBound]) }
    let parts = words.split { $0 == "_" || $0 == "-" || $0 == "." || $0 == " " }
    let type = parts.joined(separator: "-").prefix(Self.typeBytesMax).drop { $0 == "-" }
    let whole = String(type.last == "-" ? type.dropLast() : type)
    return whole == text || (try? ServiceType(whole)) == nil ? nil : whole
  }

  /// Limit for a service name (RFC 6335).
  private static let typeBytesMax = 15

  /// The edit distance: the number of insertions, deletions, substitutions, and transpositions of neighbours.
  static func distance(_ a: String, _ b: String) -> Int {
    // A longer word is no misspelling of a known one.
    let (a, b) = (Array(a.unicodeScalars.prefix(64)), Array(b.unicodeScalars.prefix(64)))
    if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
    var rows = [Array(0...b.count)]
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        let changed = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        var least = min(rows[i - 1][j] + 1, row[j - 1] + 1, changed)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { least = min(least, rows[i - 2][j - 2] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }
}
