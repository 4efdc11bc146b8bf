/// How a host starts; the defaults are what a program on a LAN wants.
public struct HostOptions: Sendable {
  /// Where it keeps who it is.
  public var keys = KeyStorage.standard
  /// Where it keeps what is under way, to go on from there after a crash or a power cut.
  public var store = HostStorage.none
  public var discovery = DiscoveryMethod.avahi
  /// The port of its links; 0 takes a free one.
  public var port: UInt16 = 0
  /// Where it listens, such as `10.0.0.5`, `::1` or `10.0.0.5:7777`; none for all addresses of this machine. A port that is
  /// named there is that of all, in the place of `port`.
  public var listen: [String] = []
  /// Sockets that were opened for it already: some that listen for TCP, and perhaps one for UDP, all at one port, which
  /// then is the host's. The host closes them.
  public var sockets: [Int32] = []
  /// What is fetched for others as a resource: from where, and how much.
  public var web = WebRules()
  /// Whether another host with the same key is looked for, whatever that advertises.
  package var looksForTwin = false
  /// Whether connections wait until something stands at the port that tells links from others.
  package var awaitsAcceptor = false

  public init() {}
}

/// What a host fetches from the web to send it on. Whoever may name an address may have it fetched from where the host is.
public struct WebRules: Hashable, Sendable {
  public var bytesMax: UInt64 = 64 << 30
  /// Addresses of networks like the one at home.
  public var allowsPrivate = true
  /// This machine itself.
  public var allowsLoopback = false
  public init() {}
}

/// Where a host keeps its sessions, what was sent in them and not acknowledged, and the resources under way.
///
/// A durable host that is killed is the same to the others when it is started again: `Peer.restoredSessions()`. What it
/// sends waits for the disk, and what it told its program shortly before it was killed is told again.
public enum HostStorage: Hashable, Sendable {
  /// Nowhere: a host that is started again begins anew.
  case none
  /// In the folder of its keys. Programs that use the same keys, one after another, have a name for each.
  case besideKeys(name: String = "sessions")
  /// A file, which is made where it is missing; one process uses it at a time. It says nothing without the keys.
  case file(String)
}

public enum DiscoveryMethod: Hashable, Sendable {
  /// Multicast DNS, by the Avahi daemon of this machine.
  case avahi
  /// Hosts are where one says, such as `10.0.0.5:7777` or `[fe80::1%eth0]:7777`.
  case fixed([String])
}

/// What a program can tell its user about the state of its host.
public enum Condition: Hashable, Sendable {
  /// Peers are not found and do not find this one: why, and what helps. What is wrong with a single advertiser or browser
  /// is its own `state`.
  case discoveryUnavailable(cause: String, cure: String)
  case discoveryAvailable
  /// Where this host listens.
  case addresses([String])
  /// What happens cannot be stored, so that much of it waits: why, and what to do. It is tried again and again.
  case notStored(String)
  /// And now it is.
  case storedAgain
  /// This host's key is in use on another one as well.
  case conflict(HostID)
}
