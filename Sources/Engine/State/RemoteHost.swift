import Wire

/// Another host, or this one as its peers see each other.
final class RemoteHost {
  let id: HostID
  let isSelf: Bool
  var key: PublicKey?
  var incarnation: Incarnation?
  /// How it may be reached by its own word, the best first.
  private(set) var told: [Address] = []
  /// How it may be reached by the connection data that a program here was given last.
  private(set) var given: [Address] = []
  /// How it may be reached by the word of others, or as it was once known.
  private(set) var rumoured: [Address] = []
  var links: [Link] = []
  var bond: Bond?
  /// The groups it has members in.
  var presences = OrderedDictionary<Int, Presence>()
  /// Own invitations to its peers that have not ended, and all that is remembered of theirs, by their numbers.
  var asked = OrderedDictionary<InvitationID, OutgoingInvitation>()
  var asking = OrderedDictionary<UInt64, IncomingInvitation>()
  /// Its peers that have shown a valid carrier statement.
  var proved: [PeerID: Incarnation] = [:]
  /// Its peers that are away, as it said last; stale is what it has not said again on the present link.
  var away = OrderedDictionary<PeerID, (since: Instant, isStale: Bool)>()

  /// The service types that its peers advertise, by its latest answer to `browseTypes`.
  var types: [ServiceType] = []

  /// The dial that has not ended, and where it leads.
  var dial: (id: DialID, addresses: [Address])?
  var dialFailures = 0
  var dialsAgain: Instant?
  /// Probes of its records that are unanswered, in a row, and when the next is due.
  var probesUnanswered = 0
  var probesAgain: Instant?
  var isVanished = false

  init(id: HostID, isSelf: Bool) {
    self.id = id
    self.isSelf = isSelf
  }

  /// It says where it can be reached now; a host that says nothing knows nothing of it.
  func learn(fromGreeting addresses: [Address]) {
    if !addresses.isEmpty { told = addresses }
  }

  /// An entry may be older than the greeting, and says no more than a part.
  func learn(fromEntry addresses: [Address]) {
    for address in addresses where !told.contains(address) && told.count < Limits.helloAddressesMax {
      told.append(address)
    }
  }

  func learn(fromData addresses: [Address]) { given = addresses }

  /// What another host says of it takes the place of nothing that it said itself, nor of what was said before.
  func learn(byHearsay addresses: [Address]) {
    for address in addresses where !rumoured.contains(address) && rumoured.count < Self.rumouredMax {
      rumoured.append(address)
    }
  }

  /// Lets go of everything that knows of it.
  func empty() {
    bond = nil
    links = []
    presences.removeAll()
    asked.removeAll()
    asking.removeAll()
  }

  /// A host of which more is said has most of them from long ago, or from liars.
  private static let rumouredMax = 8
}
