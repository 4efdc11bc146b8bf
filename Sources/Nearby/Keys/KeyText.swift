internal import Media
internal import Wire

/// The form of a key file. Each line is a word and its values; bytes are hexadecimal, certificates DER:
///
///     vicinity keys 1
///     host <seed>
///     incarnation <number>
///     peer <seed> <name>
///     known <peer id> code|hand <name>
///     anchor <certificate>
///     identity <private key> <certificate> …
///     sha256 <digest of all bytes above>
///
/// A line that begins with # says something to people. A name goes to the end of its line; in it % and control
/// characters are % and two digits. The digest is there for disks that fail, and for hands that mean well: with one
/// digit off it would be another host.
enum KeyText {
  static let version: UInt64 = 1
  /// Room for `StoredKeys` with all of its counts at their limits.
  static let bytesMax = 16 << 20

  enum Fault: Error {
    /// A line of 0 stands for the file as a whole.
    case damaged(line: Int, String)
    case newer(UInt64)
  }

  private static let title = "vicinity keys "
  private static let warning = "# Whoever has this file can be this host and its peers. Give it to nobody."
  private static let newline = UInt8(ascii: "\n")

  // MARK: Writing

  static func bytes(of keys: StoredKeys) -> [UInt8] {
    var lines = ["\(title)\(version)", warning]
    lines.append("host \(hexadecimal(keys.hostKey.seed))")
    lines.append("incarnation \(keys.incarnation.rawValue)")
    for (name, key) in keys.peers.sorted(by: { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }) {
      lines.append("peer \(hexadecimal(key.seed)) \(escaped(name))")
    }
    for peer in keys.known.values.sorted(by: { $0.id < $1.id }) {
      lines.append("known \(peer.id) \(peer.confirmation.rawValue) \(escaped(peer.name))")
    }
    for anchor in keys.anchors { lines.append("anchor \(hexadecimal(anchor.der))") }
    for identity in keys.identities {
      let values = [identity.privateKey] + identity.chain.map(\.der)
      lines.append("identity \(values.map(hexadecimal).joined(separator: " "))")
    }
    let body = Array((lines.joined(separator: "\n") + "\n").utf8)
    return body + Array(seal(over: body).utf8) + [newline]
  }

  private static func seal(over body: [UInt8]) -> String { "sha256 \(OpenSSLCrypto().hash(body))" }

  // MARK: Reading

  static func keys(from bytes: [UInt8]) throws(Fault) -> StoredKeys {
    var lines = bytes.split(separator: newline, omittingEmptySubsequences: false)[...]
    // The title first: a later version may change everything after it.
    try readTitle(text(lines.popFirst() ?? []))
    guard lines.popLast() == [], let seal = lines.popLast() else { throw .damaged(line: 0, "its end is missing") }
    guard text(seal) == self.seal(over: Array(bytes[..<seal.startIndex])) else {
      throw .damaged(line: 0, "its check sum is not that of its contents")
    }
    var draft = Draft()
    for (index, line) in lines.enumerated() where line.first != UInt8(ascii: "#") {
      guard read(text(line), into: &draft) else { throw .damaged(line: index + 2, "it cannot be read") }
    }
    guard let hostKey = draft.hostKey, let incarnation = draft.incarnation else {
      throw .damaged(line: 0, "it names no host")
    }
    draft.keys.hostKey = hostKey
    draft.keys.incarnation = incarnation
    return draft.keys
  }

  private struct Draft {
    var hostKey: SigningKey?
    var incarnation: Incarnation?
    var keys = StoredKeys()
  }

  private static func readTitle(_ line: String) throws(Fault) {
    guard line.hasPrefix(title), let version = UInt64(line.dropFirst(title.count)) else {
      throw .damaged(line: 1, "it is not a key file")
    }
    if version > self.version { throw .newer(version) }
    if version < self.version { throw .damaged(line: 1, "there is no format \(version)") }
  }

  /// False for a line that has no meaning.
  private static func read(_ line: String, into draft: inout Draft) -> Bool {
    let (word, values) = parted(line[...])
    switch word {
    case "host":
      draft.hostKey = key(values)
      return draft.hostKey != nil
    case "incarnation":
      draft.incarnation = UInt64(values).map { Incarnation($0) }
      return draft.incarnation != nil
    case "peer":
      let (seed, name) = parted(values)
      guard let key = key(seed), let name = self.name(name) else { return false }
      draft.keys.peers[name] = key
      return true
    case "known":
      let (id, rest) = parted(values)
      let (confirmation, name) = parted(rest)
      guard let id = try? PeerID(text: String(id)), let name = self.name(name),
        let confirmation = KnownPeer.Confirmation(rawValue: String(confirmation))
      else { return false }
      draft.keys.known[id] = KnownPeer(id: id, name: name, confirmation: confirmation)
      return true
    case "anchor":
      guard let anchor = certificate(values) else { return false }
      draft.keys.anchors.append(anchor)
      return true
    case "identity":
      let parts = values.split(separator: " ")
      let chain = parts.dropFirst().compactMap(certificate)
      guard let key = parts.first.flatMap(bytes(hexadecimal:)), chain.count == parts.count - 1,
        let identity = try? HeldIdentity(privateKey: key, chain: chain)
      else { return false }
      draft.keys.identities.append(identity)
      return true
    default:
      return false
    }
  }

  /// The parts before and behind the first space.
  private static func parted(_ text: Substring) -> (Substring, Substring) {
    let head = text.prefix { $0 != " " }
    return (head, text[head.endIndex...].dropFirst())
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  private static func key(_ text: Substring) -> SigningKey? { bytes(hexadecimal: text).flatMap(SigningKey.init(seed:)) }

  private static func certificate(_ text: Substring) -> Certificate? {
    bytes(hexadecimal: text).flatMap { try? Certificate(der: $0) }
  }

  // MARK: Names and bytes

  private static func escaped(_ name: DisplayName) -> String {
    let bytes = name.text.utf8.flatMap { byte in
      byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") ? Array("%\(hexadecimal([byte]))".utf8) : [byte]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func name(_ text: Substring) -> DisplayName? {
    var plain: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        plain.append(byte)
        continue
      }
      guard let escape = bytes(hexadecimal: Substring(rest.prefix(2))), escape.count == 1 else { return nil }
      plain += escape
      rest = rest.dropFirst(2)
    }
    return try? DisplayName(String(decoding: plain, as: UTF8.self))
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  private static func bytes(hexadecimal text: Substring) -> [UInt8]? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
