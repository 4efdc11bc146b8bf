/// The limits of a host that relays: what it gives away of its links.
public struct RelayRules: Hashable, Sendable {
  /// Circuits through this host at a time. Each holds less than 64 KiB.
  public var circuitsMax = 128
  /// Circuits at a time of one host, at either end.
  public var circuitsPerHostMax = 32
  /// Bytes a second through this host in all; 0 for no limit but the turns that circuits have behind own traffic.
  public var bytesPerSecond = 0
  /// Whether circuits are only between hosts that both have members in one session with this one, which is not announced
  /// as a relay then.
  public var isForMembers = false

  public init() {}
}
