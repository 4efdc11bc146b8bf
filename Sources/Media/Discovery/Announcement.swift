public import Wire

/// A record on a LAN, as the strings of its TXT record. The first string is ours, by its place alone; all that follow
/// are the program's, so that none of its keys can be taken for ours.
public enum Announcement: Hashable, Sendable {
  /// A peer that advertises.
  case peer(PeerID, host: HostID, name: DisplayName, info: DiscoveryInfo)
  /// A host that reports its many peers over a link.
  case roster(host: HostID)

  /// The start of the first string, up to the version.
  private static let head = Array("vicinity=".utf8)
  private static let version = Array("1".utf8)
  private static let space = UInt8(ascii: " ")
  private static let equals = UInt8(ascii: "=")

  public var txt: [[UInt8]] {
    switch self {
    case .peer(let peer, let host, let name, let info):
      [Array("vicinity=1 \(peer.text) \(host.text) \(name.text)".utf8)]
        + info.pairs.map { Array("\($0.key)=\($0.value)".utf8) }
    case .roster(let host):
      [Array("vicinity=1 \(host.text)".utf8)]
    }
  }

  public var host: HostID {
    switch self {
    case .peer(_, let host, _, _), .roster(let host): host
    }
  }

  /// Parses untrusted strings.
  public init(txt: [[UInt8]]) throws(Fault) {
    guard let own = txt.first, own.starts(with: Self.head) else { throw .notOurs }
    let words = own.dropFirst(Self.head.count).split(
      separator: Self.space, maxSplits: 3, omittingEmptySubsequences: false)
    guard words[0].elementsEqual(Self.version) else { throw .version(String(decoding: words[0], as: UTF8.self)) }
    switch words.count {
    case 2:
      guard txt.count == 1 else { throw .rosterWithInfo(strings: txt.count - 1) }
      self = .roster(host: HostID(try Self.identifier(words[1])))
    case 4:
      self = .peer(
        PeerID(try Self.identifier(words[1])), host: HostID(try Self.identifier(words[2])),
        name: try Self.displayName(words[3]), info: try Self.info(txt.dropFirst()))
    default:
      throw .words(count: words.count)
    }
  }

  private static func identifier(_ word: ArraySlice<UInt8>) throws(Fault) -> ID128 {
    let text = try text(word)
    do throws(WireError) { return try ID128(text: text) } catch { throw .broken(error) }
  }

  private static func displayName(_ word: ArraySlice<UInt8>) throws(Fault) -> DisplayName {
    let text = try text(word)
    do throws(WireError) { return try DisplayName(text) } catch { throw .broken(error) }
  }

  private static func info(_ strings: ArraySlice<[UInt8]>) throws(Fault) -> DiscoveryInfo {
    guard strings.count <= Limits.discoveryPairsMax else {
      throw .broken(WireError(.discoveryPairsOverLimit(count: strings.count)))
    }
    var pairs: [String: String] = [:]
    for string in strings {
      guard let end = string.firstIndex(of: equals) else { throw .noPair(String(decoding: string, as: UTF8.self)) }
      let (key, value) = (try text(string[..<end]), try text(string[(end + 1)...]))
      guard pairs.updateValue(value, forKey: key) == nil else { throw .keyTwice(key) }
    }
    do throws(WireError) { return try DiscoveryInfo(pairs) } catch { throw .broken(error) }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) throws(Fault) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .broken(WireError(.invalidUTF8(field: "a string of the TXT record")))
    }
    return text
  }

  /// Why a record is not one of a host or peer: another program's, a later version's, or a forgery.
  public enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    case notOurs
    case version(String)
    case words(count: Int)
    case rosterWithInfo(strings: Int)
    case noPair(String)
    case keyTwice(String)
    case broken(WireError)

    public var description: String {
      switch self {
      case .notOurs:
        "The record does not begin with “vicinity=”: it is another program's, of the same service type."
      case .version(let version):
        "The record is of version “\(version.prefix(20))”, and only 1 is known; upgrade the older of the two hosts."
      case .words(let count):
        "The record's first string has \(count) words; a roster's has 2, and a peer's 4."
      case .rosterWithInfo(let strings):
        "The record of a roster has \(strings) strings too many; it has 1."
      case .noPair(let string):
        "The record's string “\(string.prefix(40))” is no pair; write “key=value”."
      case .keyTwice(let key):
        "The record has the key “\(key.prefix(40))” twice; name every value once."
      case .broken(let error):
        "The record breaks a rule: \(error)"
      }
    }
  }
}

extension ServiceRecord {
  /// The record that announces it; its instance name is an ID, which means nothing to people.
  init(_ announcement: Announcement, _ type: ServiceType, port: UInt16) {
    let name =
      switch announcement {
      case .peer(let peer, _, _, _): peer.text
      case .roster(let host): host.text
      }
    self.init(key: Key(type: type, name: name), port: port, txt: announcement.txt)
  }
}
