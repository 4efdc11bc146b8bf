internal import Media

/// How a host starts; the defaults suit a program on a LAN.
public struct HostOptions: Sendable {
  /// The storage of its identity.
  public var keys = KeyStorage.standard
  /// The store of its sessions, to resume them after a crash or a power cut.
  public var store = HostStorage.none
  /// The media over which it meets other hosts; a gateway has its port for clients in any case.
  public var media = [HostMedium.lan]
  /// Limits on what this host passes on for others, where it relays.
  public var relay = RelayOptions()
  /// How others are found on the local network.
  public var discovery = DiscoveryMethod.avahi
  /// The port of its links; 0 takes a free one.
  public var port: UInt16 = 0
  /// The addresses to listen at, such as `10.0.0.5`, `::1` or `10.0.0.5:7777`; none for all addresses of this machine.
  /// A port that is named there is that of all, in place of `port`.
  public var listen: [String] = []
  /// Open sockets to take over: some that listen for TCP, and perhaps one for UDP, all at one port, which then is the
  /// host's. The host closes them.
  public var sockets: [Int32] = []
  /// Limits on URLs that are fetched for others as a resource.
  public var web = WebRules()
  /// Whether its loop polls for up to 60 µs before it sleeps, once it has been answered at once: a round trip takes half
  /// the time, and evenly paced traffic of over 10,000 messages a second some more of the processor.
  public var pollsBusily = true
  /// Whether to look for another host with the same key in any case.
  package var looksForTwin = false
  /// How long another host may acknowledge nothing until it is cut as slow; nil for the usual time.
  package var backlogAgeMax: Duration?
  /// Whether connections wait until there is an acceptor at the port that tells links from others.
  package var awaitsAcceptor = false

  public init() {}
}

/// The hosts whose links a host with several media passes on, and the limits of that.
public struct RelayOptions: Hashable, Sendable {
  /// Nil: all, where `HostMedium.relay` is among its media; else members.
  public var audience: RelayAudience?
  /// The links of others at a time, of which a quarter may be of one host. Each takes less than 64 KiB.
  public var circuitsMax = 128
  /// The bytes a second that it passes on in all, shared by the hosts that send; nil for no limit, since its own traffic goes
  /// first in any case.
  public var bytesPerSecondMax: Int?
  public init() {}
}

/// The hosts whose links a host passes on.
public enum RelayAudience: String, Sendable {
  case nobody
  /// Hosts that both have members in one session with this one.
  case members
  /// All hosts, which are told that it relays, and whom it receives.
  case all
}

/// Limits on what a host fetches from the web to send it on. Its users can have any allowed address fetched from where
/// the host is.
public struct WebRules: Hashable, Sendable {
  public var bytesMax: UInt64 = 64 << 30
  /// Addresses of networks like the one at home.
  public var allowsPrivate = true
  /// This machine itself.
  public var allowsLoopback = false
  public init() {}
}

/// The store of a host: its sessions, unacknowledged messages, and resources in progress.
///
/// A durable host that is killed is the same to the others when it is started again: `Peer.restoredSessions()`. Its
/// sends wait for the disk, and events from shortly before it was killed come again.
public enum HostStorage: Hashable, Sendable {
  /// Nowhere: a restarted host begins anew.
  case none
  /// In the folder of its keys. Programs that use the same keys, one after another, have a name for each.
  case besideKeys(name: String = "sessions")
  /// A file, which is created where it is missing; one process uses it at a time. It is of no use without the keys.
  case file(String)
}

/// A medium over which hosts find each other and are connected.
public enum HostMedium: Hashable, Sendable {
  /// The local network, as `HostOptions.discovery` says.
  case lan
  /// A folder that programs of this machine share, in one or more containers or of several users. Whoever may write to
  /// it takes part: the user alone, or its group too. A folder that everybody may write to is refused.
  case folder(String)
  /// Bluetooth (RFCOMM), by one adapter with its name in the kernel, such as `hci0`, or by all. The program
  /// `vicinity-bluetooth` does it.
  case bluetooth(adapter: String? = nil)
  /// Relays beyond the members of own sessions: hosts that pass on links to others which no other medium of this host leads
  /// to, and that read nothing of them. With several other media this host relays for all, too.
  case relay

  /// Reads `lan`, `folder:PATH`, `bluetooth`, `bluetooth:ADAPTER` or `relay`.
  public init?(_ text: String) {
    let folder = text.hasPrefix(Self.folderHead) ? text.dropFirst(Self.folderHead.count) : ""
    let adapter = text.hasPrefix(Self.bluetoothHead) ? text.dropFirst(Self.bluetoothHead.count) : ""
    if text == "lan" {
      self = .lan
    } else if text == "relay" {
      self = .relay
    } else if text == "bluetooth" {
      self = .bluetooth()
    } else if HostNetwork.isBluetoothAdapter(String(adapter)) {
      self = .bluetooth(adapter: String(adapter))
    } else if !folder.isEmpty, !folder.utf8.contains(0) {
      self = .folder(String(folder))
    } else {
      return nil
    }
  }

  private static let folderHead = "folder:"
  private static let bluetoothHead = "bluetooth:"
}

public enum DiscoveryMethod: Hashable, Sendable {
  /// Multicast DNS, by the Avahi daemon of this machine.
  case avahi
  /// Hosts at given addresses, such as `10.0.0.5:7777` or `[fe80::1%eth0]:7777`.
  case fixed([String])
}

/// A state of the host that its program may show to the user.
public enum Condition: Hashable, Sendable {
  /// Peers are not found and do not find this one: the cause, and a remedy. A failure of a single advertiser or browser
  /// is its own `state`.
  case discoveryUnavailable(cause: String, cure: String)
  /// The same over one of several media, while another one works.
  case mediumUnavailable(cause: String, cure: String)
  case discoveryAvailable
  case addresses([String])
  /// Changes cannot be stored, so that much of the work waits: the cause, and a remedy. It is tried again and again.
  case notStored(String)
  /// The store works again.
  case storedAgain
  /// This host's key is in use on another one as well.
  case conflict(HostID)
}
