/// Whom a list shows: those of whom all the words are true.
struct NearbyFilter: Equatable, Sendable {
  /// A part of a name, or a key and a value of the discovery info.
  var words: [String] = []

  func shows(name: String, info: [String: String]) -> Bool {
    words.allSatisfy { word in
      guard let mark = word.firstIndex(of: "=") else { return name.lowercased().contains(word.lowercased()) }
      let (key, value) = (word[..<mark].lowercased(), word[word.index(after: mark)...])
      // Keys are the same in capitals: RFC 6763 §6.4.
      return info.contains { $0.key.lowercased() == key && $0.value == value }
    }
  }
}
