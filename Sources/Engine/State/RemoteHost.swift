import Wire

/// Another host, or this one as its peers see each other.
final class RemoteHost {
  let id: HostID
  let isSelf: Bool
  var key: PublicKey?
  var incarnation: Incarnation?
  /// Its addresses by its own word, the best first.
  private(set) var ownAddresses: [Address] = []
  /// Its addresses in the connection data that a program here was given last.
  private(set) var given: [Address] = []
  /// Its addresses by the word of others, or as they were once known.
  private(set) var rumoured: [Address] = []
  var links: [Link] = []
  var bond: Bond?
  /// The groups it has members in.
  var presences = OrderedDictionary<Int, Presence>()
  /// Own invitations to its peers that have not ended, and the remembered ones of its peers, by their numbers.
  var asked = OrderedDictionary<InvitationID, OutgoingInvitation>()
  var asking = OrderedDictionary<UInt64, IncomingInvitation>()
  /// Its peers that have shown a valid carrier statement.
  var proved: [PeerID: Incarnation] = [:]
  /// Its away peers by its last report; stale ones have not been repeated on the present link.
  var away = OrderedDictionary<PeerID, (since: Instant, isStale: Bool)>()

  /// The service types that its peers advertise, by its latest answer to `browseTypes`.
  var types: [ServiceType] = []

  /// The dial in progress; for another medium beside the link in use, or for any.
  var dial: (id: DialID, addresses: [Address], isBeside: Bool)?
  var dialFailures = 0
  var dialsAgain: Instant?
  /// The same for dials of another medium.
  var besideFailures = 0
  var dialsBeside: Instant?
  /// Whether the dial in progress began before the latest change of media.
  var isHurried = false
  /// The media whose links were lost, and that have had none since, in the order of their losses.
  private(set) var lostMedia: [MediumID] = []
  /// The relays through which no link came about, or was lost, in the order of their last failures.
  private(set) var failedRelays: [HostID] = []
  /// Unanswered probes of its records in a row, and when the next is due.
  var probesUnanswered = 0
  var probesAgain: Instant?
  var isVanished = false
  /// When it was probed by each medium, where that is the only probe without an answer; and the time of its latest
  /// answer.
  var probed: [MediumID: Instant] = [:]
  var roundTrips: [MediumID: Duration] = [:]

  init(id: HostID, isSelf: Bool) {
    self.id = id
    self.isSelf = isSelf
  }

  /// Whether circuits go over a link to it.
  var carriesCircuits: Bool { links.contains { $0.circuits?.legs.isEmpty == false } }

  func lost(_ medium: MediumID) {
    found(medium)
    lostMedia.append(medium)
  }

  /// The relay is tried after the others from now on.
  func failed(through relay: HostID) {
    failedRelays.removeAll { $0 == relay }
    failedRelays.append(relay)
    if failedRelays.count > Self.failedRelaysMax { failedRelays.removeFirst() }
  }

  func found(_ medium: MediumID) { lostMedia.removeAll { $0 == medium } }

  /// Its present addresses; an empty list means that it does not know them.
  func learn(fromGreeting addresses: [Address]) {
    if !addresses.isEmpty { ownAddresses = addresses }
  }

  /// An entry may be older than the greeting, and has only some of the addresses.
  func learn(fromEntry addresses: [Address]) {
    for address in addresses where !ownAddresses.contains(address) && ownAddresses.count < Limits.helloAddressesMax {
      ownAddresses.append(address)
    }
  }

  func learn(fromData addresses: [Address]) { given = addresses }

  /// Addresses from another host replace none that it said itself, nor earlier ones.
  func learn(byHearsay addresses: [Address]) {
    for address in addresses where !rumoured.contains(address) && rumoured.count < Self.rumouredMax {
      rumoured.append(address)
    }
  }

  /// Drops all references to it.
  func empty() {
    bond = nil
    links = []
    presences.removeAll()
    asked.removeAll()
    asking.removeAll()
  }

  /// Many more than are tried in a row, so that each way has its turn.
  private static let failedRelaysMax = 64
  /// More addresses than this are from long ago, or from liars.
  private static let rumouredMax = 8
}
