internal import Nearby

/// The peers that were met, so that each can be shown and named without ambiguity.
struct PeerLabels: Sendable {
  /// The length of an ID's prefix that no two peers share by chance.
  static let prefixLength = 6

  private(set) var names: [PeerID: String] = [:]

  mutating func add(_ id: PeerID, _ name: String) { names[id] = name }

  mutating func remove(_ id: PeerID) { names[id] = nil }

  /// The name; also the beginning of the ID where another peer has the same name, or the name could be taken for an ID.
  func label(_ id: PeerID) -> String {
    guard let name = names[id] else { return short(id) }
    let plain = PlainText.line(name)
    let isShared = names.contains { $0.key != id && PlainText.line($0.value).lowercased() == plain.lowercased() }
    return isShared ? "\(plain) (\(short(id)))" : plain
  }

  func short(_ id: PeerID) -> String { String(id.text.prefix(Self.prefixLength)) }
}

/// The peers that a word matches.
enum PeerChoice: Equatable, Sendable {
  case none
  case one(PeerID)
  case several([PeerID])

  /// Matches an ID; else a name, or the beginning of an ID, that fits only one peer.
  init(_ word: String, among names: [PeerID: String]) {
    if let id = try? PeerID(text: word), names[id] != nil {
      self = .one(id)
      return
    }
    let fitting = names.filter { id, name in
      name == word || word.utf8.count >= Self.prefixMin && id.text.hasPrefix(word)
    }
    let loose = fitting.isEmpty ? names.filter { $0.value.lowercased() == word.lowercased() } : fitting
    switch loose.count {
    case 0: self = .none
    case 1: self = .one(loose.keys[loose.startIndex])
    default: self = .several(loose.keys.sorted())
    }
  }

  /// A shorter prefix matches by chance too easily.
  private static let prefixMin = 3
}
