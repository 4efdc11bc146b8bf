public import Wire

/// What a record's strings say: that a host carries a peer, or that it tells of its many over a link.
///
/// The first strings are ours, by their place: what a program adds behind them is never taken for ours.
public enum Announcement: Hashable, Sendable {
  case peer(PeerID, host: HostID, name: DisplayName, info: DiscoveryInfo)
  case roster(host: HostID)

  private static let version = "v=1"

  public var txt: [[UInt8]] {
    let strings =
      switch self {
      case .peer(let peer, let host, let name, let info):
        [Self.version, "host=\(host)", "id=\(peer)", "name=\(name)"] + info.pairs.map { "\($0.key)=\($0.value)" }
      case .roster(let host):
        [Self.version, "host=\(host)"]
      }
    return strings.map { Array($0.utf8) }
  }

  /// Reads what a stranger announces.
  public init(txt: [[UInt8]]) throws(Fault) {
    var strings = txt[...]
    func next(_ key: String) throws(Fault) -> String {
      guard let bytes = strings.popFirst() else { throw .missing(key) }
      guard let text = String(validating: bytes, as: UTF8.self), text.hasPrefix("\(key)=") else { throw .missing(key) }
      return String(text.dropFirst(key.count + 1))
    }
    let version = try next("v")
    guard version == "1" else { throw .version(version) }
    do {
      let host = try HostID(text: try next("host"))
      if strings.isEmpty {
        self = .roster(host: host)
        return
      }
      let peer = try PeerID(text: try next("id"))
      let name = try DisplayName(try next("name"))
      var info: [String: String] = [:]
      for bytes in strings {
        guard let text = String(validating: bytes, as: UTF8.self), let equals = text.firstIndex(of: "=") else {
          throw Fault.pair
        }
        // The first of several counts (RFC 6763 §6.4).
        let key = String(text[..<equals])
        if info[key] == nil { info[key] = String(text[text.index(after: equals)...]) }
      }
      self = .peer(peer, host: host, name: name, info: try DiscoveryInfo(info))
    } catch let fault as Fault {
      throw fault
    } catch {
      throw .value("\(error)")
    }
  }

  /// Why a record is none of ours, or a bad one.
  public enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    case missing(String)
    case version(String)
    case pair
    case value(String)

    public var description: String {
      switch self {
      case .missing(let key): "the record has no '\(key)=' where it belongs"
      case .version(let version): "the record is of version \(version.prefix(16)), and this host knows version 1"
      case .pair: "the record has a string that is no key and value in UTF-8"
      case .value(let why): "the record says what cannot be: \(why)"
      }
    }
  }
}

extension ServiceRecord {
  /// The record that announces it; its instance name is an ID, which means nothing to anybody.
  init(_ announcement: Announcement, _ type: ServiceType, port: UInt16) {
    let name =
      switch announcement {
      case .peer(let peer, _, _, _): peer.text
      case .roster(let host): host.text
      }
    self.init(key: Key(type: type, name: name), port: port, txt: announcement.txt)
  }
}
