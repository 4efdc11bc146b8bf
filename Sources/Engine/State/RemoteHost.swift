import Wire

/// Another host, or this one as its peers see each other.
final class RemoteHost {
  let id: HostID
  let isSelf: Bool
  var key: PublicKey?
  var incarnation: Incarnation?
  /// How it may be reached, the best first.
  private(set) var addresses: [Address] = []
  var links: [Link] = []
  var bond: Bond?
  /// The groups it has members in.
  var presences = Table<Int, Presence>()
  /// Own invitations to its peers that have not ended, and all that is remembered of theirs, by their numbers.
  var asked = Table<InvitationID, OutgoingInvitation>()
  var asking = Table<UInt64, IncomingInvitation>()
  /// Its peers that have shown a valid carrier statement.
  var proved: [PeerID: Incarnation] = [:]

  var dial: DialID?
  var dialFailures = 0
  var dialsAgain: Instant?
  /// Whether a probe of its records is unanswered, how often in a row, and when the next is due.
  var probesMissed = 0
  var probesAgain: Instant?
  var isVanished = false

  init(id: HostID, isSelf: Bool) {
    self.id = id
    self.isSelf = isSelf
  }

  func learn(_ more: [Address]) {
    for address in more where !addresses.contains(address) {
      if addresses.count == Self.addressesMax { addresses.removeLast() }
      addresses.insert(address, at: 0)
    }
  }

  /// What another host says of it comes last, and takes the place of nothing that it said itself.
  func learn(byHearsay more: [Address]) {
    for address in more where !addresses.contains(address) && addresses.count < Self.addressesMax {
      addresses.append(address)
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

  /// A host with more has most of them from long ago.
  private static let addressesMax = 16
}
