/// A filter of a list of peers: it shows the peers that match all words.
struct NearbyFilter: Equatable, Sendable {
  /// Words to match: part of a name, or a key and a value of the discovery info.
  var words: [String] = []

  func shows(name: String, info: [String: String]) -> Bool {
    words.allSatisfy { word in
      guard let mark = word.firstIndex(of: "=") else { return name.lowercased().contains(word.lowercased()) }
      let (key, value) = (word[..<mark].lowercased(), word[word.index(after: mark)...])
      // Keys are case-insensitive (RFC 6763 §6.4).
      return info.contains { $0.key.lowercased() == key && $0.value == value }
    }
  }
}
