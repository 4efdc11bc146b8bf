/// A medium of this host: its place in `Settings.media`. It means nothing on another host.
public struct MediumID: Hashable, Comparable, Sendable {
  public var rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  /// The only one of most hosts.
  public static let first = MediumID(rawValue: 0)
}

/// The parameters of a kind of medium, the same on both sides of a link.
///
/// Invariant: the bounds on silence and suspension are the medium's own, since a slow radio is silent for longer than a
/// cable before anybody should worry.
public struct MediumProfile: Hashable, Sendable {
  /// The name for people and programs: `lan`, `bluetooth`.
  public var name: String
  /// The first bytes of its addresses; of several media that match, the one with the longest prefix has the address.
  public var addressPrefix: [UInt8]
  /// The preference among media that lead to one host: the lowest is the best.
  public var rank: Int
  /// The interval of heartbeats on a link that is otherwise quiet.
  public var heartbeatInterval: Duration
  /// The silence after which a link is dead.
  public var silenceMax: Duration
  /// How long a pair stays connected without a link, counted from the last bytes over this medium.
  public var suspensionMax: Duration
  /// Whether a host answers probes here; where not, its records last until the medium takes them back.
  public var isProbed: Bool
  /// The bytes of a stream in one piece: a message waits for the rest of one.
  public var chunkBytesMax: Int
  /// How long the higher of two hosts leaves it to the lower one to dial after a link was lost with notice.
  public var redialPause: Duration = .zero
  /// Whether links measure their round trip themselves, since the system measures none.
  public var isMeasured = false
  /// Whether the system loses nothing on it, as between processes of one machine.
  public var isLossless = false
  /// Whether its links go over circuits through relays, and not to the host itself.
  public var isRelayed = false

  public init(
    name: String, addressPrefix: [UInt8], rank: Int, heartbeatInterval: Duration, silenceMax: Duration,
    suspensionMax: Duration, isProbed: Bool, chunkBytesMax: Int
  ) {
    self.name = name
    self.addressPrefix = addressPrefix
    self.rank = rank
    self.heartbeatInterval = heartbeatInterval
    self.silenceMax = silenceMax
    self.suspensionMax = suspensionMax
    self.isProbed = isProbed
    self.chunkBytesMax = chunkBytesMax
  }

  /// IP on the local network. Three missed heartbeats end a link: a lost one and a late one do not. A host that dies
  /// right after one is reported within five seconds, by a host with other work as well.
  public static let lan = MediumProfile(
    name: "lan", addressPrefix: [], rank: 20, heartbeatInterval: .seconds(1), silenceMax: .seconds(3),
    suspensionMax: .milliseconds(4_900), isProbed: true, chunkBytesMax: 16 << 10)

  /// Sockets in a folder that hosts of one machine share: nothing is nearer.
  public static let folder: MediumProfile = {
    var profile = MediumProfile(
      name: "folder", addressPrefix: Array("folder:".utf8), rank: 10, heartbeatInterval: .seconds(1),
      silenceMax: .seconds(3), suspensionMax: .milliseconds(4_900), isProbed: true, chunkBytesMax: 16 << 10)
    profile.isMeasured = true
    profile.isLossless = true
    return profile
  }()

  /// A slow radio whose every packet costs air time: small pieces, so that a message waits for some 20 ms of a stream,
  /// and three times the patience. Two devices that page each other at the same moment may both fail, for 20 s.
  public static let bluetooth: MediumProfile = {
    var profile = MediumProfile(
      name: "bluetooth", addressPrefix: Array("rfcomm:".utf8), rank: 30, heartbeatInterval: .seconds(3),
      silenceMax: .seconds(9), suspensionMax: .milliseconds(10_900), isProbed: false, chunkBytesMax: 4 << 10)
    profile.redialPause = .seconds(2)
    profile.isMeasured = true
    return profile
  }()

  /// Circuits through relays: behind all direct media, and more patient than the links that they go over, so that the
  /// loss of one of these is noticed first.
  public static let relay: MediumProfile = {
    var profile = MediumProfile(
      name: "relay", addressPrefix: Array("via:".utf8), rank: 90, heartbeatInterval: .seconds(2),
      silenceMax: .seconds(6), suspensionMax: .milliseconds(9_900), isProbed: false, chunkBytesMax: 8 << 10)
    profile.isRelayed = true
    profile.isMeasured = true
    return profile
  }()
}
