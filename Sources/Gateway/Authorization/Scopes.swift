internal import Notation

/// A part of the gateway that a token is for: the token's role says how much it may do, its scopes in which parts.
enum Scope: String, CaseIterable {
  /// Peers, their advertising and browsing, and invitations.
  case peers
  /// Sessions, their members, the decisions in them, and the links that carry them.
  case sessions
  case messages, streams, resources
  /// Identities, anchors and trusted peers.
  case trust
  /// Pairing codes, clients, and the audit of admissions.
  case clients
  case events
  /// The Wi-Fi radios of its machine, and devices that want to be paired with its Bluetooth.
  case radios

  /// The scope of a path; nil for a path that every token may use.
  init?(of pattern: String) {
    let parts = pattern.split(separator: "/")
    guard parts.first == "v1", parts.count > 1 else { return nil }
    switch parts[1] {
    case "peers", "advertisers", "browsers", "invitations": self = .peers
    case "sessions": self = parts.count > 3 ? Scope(ofSession: String(parts[3])) : .sessions
    case "identities", "anchors", "trusted-peers": self = .trust
    case "pairing-codes", "clients", "audit": self = .clients
    case "events": self = .events
    case "links": self = .sessions
    case "radios", "bluetooth-pairings": self = .radios
    default: return nil
    }
  }
}

extension Scope {
  /// Its bit in a set of scopes, which is looked at for each request; none of it is stored.
  fileprivate var place: UInt16 {
    switch self {
    case .peers: 0
    case .sessions: 1
    case .messages: 2
    case .streams: 3
    case .resources: 4
    case .trust: 5
    case .clients: 6
    case .events: 7
    case .radios: 8
    }
  }

  /// The scope of a path below a session.
  private init(ofSession part: String) {
    switch part {
    case "datagrams": self = .messages
    default: self = Scope(rawValue: part) ?? .sessions
    }
  }
}

struct Scopes: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  static let all = Scopes(Scope.allCases)

  init(rawValue: UInt16) { self.rawValue = rawValue }

  init(_ scopes: some Sequence<Scope>) {
    rawValue = scopes.reduce(0) { $0 | Self.bit($1) }
  }

  func contains(_ scope: Scope) -> Bool { rawValue & Self.bit(scope) != 0 }

  var words: [String] { Scope.allCases.filter(contains).map(\.rawValue) }
  var json: JSON { .list(words.map(JSON.text)) }

  private static func bit(_ scope: Scope) -> UInt16 { 1 << scope.place }

  // MARK: Texts

  /// Nil where a word is unknown.
  init?(words: [String]) {
    var scopes: [Scope] = []
    for word in words {
      guard let scope = Scope(rawValue: word) else { return nil }
      scopes.append(scope)
    }
    self.init(scopes)
  }

  /// The stored form: nil for all scopes, those of later releases included.
  var stored: String? { self == .all ? nil : words.joined(separator: " ") }

  /// Ignores unknown words, as of a later release.
  init(stored: String?) {
    self = stored.map { Scopes($0.split(separator: " ").compactMap { Scope(rawValue: String($0)) }) } ?? .all
  }
}

extension Fields {
  mutating func scopes(_ name: String) throws(Problem) -> Scopes? {
    guard let words = try texts(name, max: Scope.allCases.count) else { return nil }
    guard let scopes = Scopes(words: words) else {
      throw wrong(
        name, "may hold \(Scope.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))", rule: "oneOf")
    }
    guard !scopes.isEmpty else { throw wrong(name, "is empty: such a token could do nothing", rule: "count") }
    return scopes
  }
}
