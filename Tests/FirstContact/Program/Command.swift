internal import Engine

/// A line of words, taken one by one.
struct Command {
  private var words: ArraySlice<Substring>

  init(_ line: String) {
    words = line.split(separator: " ", omittingEmptySubsequences: false)[...]
  }

  mutating func word(_ name: String) throws(Misuse) -> String {
    guard let word = words.popFirst() else { throw Misuse("the \(name) is missing") }
    return String(word)
  }

  mutating func number(_ name: String) throws(Misuse) -> Int {
    let word = try word(name)
    guard let number = Int(word) else { throw Misuse("the \(name) is '\(word)', which is no number") }
    return number
  }

  mutating func bytes(_ name: String) throws(Misuse) -> [UInt8] {
    let word = try word(name)
    guard let bytes = Hexadecimal.bytes(word) else { throw Misuse("the \(name) is not in hexadecimal") }
    return bytes
  }

  mutating func mode() throws(Misuse) -> Mode {
    let word = try word("mode")
    switch word {
    case "reliable": return .reliable
    case "unreliable": return .unreliable
    default: throw Misuse("'\(word)' is no mode: reliable, unreliable")
    }
  }
}

/// A command that cannot be carried out as it stands.
struct Misuse: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
