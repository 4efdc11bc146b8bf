import Wire

/// A local peer's own end of a session.
final class LocalEndpoint {
  let id: EndpointID
  let peer: LocalPeer
  let settings: SessionSettings
  var incarnation: EndpointIncarnation { didSet { group.dirty.touch(id) } }
  /// Its number on the wire, never used twice.
  var index: UInt32
  /// The group and the slot there; set anew when it leaves or its group is merged into another.
  var group: Group
  var slot: Int
  /// How many were there before it, as its inviter counted: the last goes first where there are too many.
  var rank: UInt32 = 0 {
    didSet {
      group.dirty.touch(id)
      group.rankRose(to: rank)
    }
  }
  var inviter: EndpointID {
    didSet {
      group.dirty.touch(id)
      // The others of this host see it, too.
      group.members[id]?.cohort.viewsChanged()
    }
  }
  var isLocked = false { didSet { choiceChanged() } }
  var blocked: Set<PeerID> = [] { didSet { choiceChanged() } }
  var banned: Set<PeerID> = [] { didSet { choiceChanged() } }
  /// Members that this endpoint removed; only an invitation brings them back.
  var removed: Set<EndpointID> = [] { didSet { choiceChanged() } }
  var adhoc: Adhoc?
  /// Peers that said no to this session, or to which its peer did: ad hoc mode does not ask them.
  var refusals = Refusals<PeerID>() { didSet { group.dirty.touch(id) } }
  var isBehind = false

  init(
    id: EndpointID, peer: LocalPeer, settings: SessionSettings, incarnation: EndpointIncarnation, index: UInt32,
    group: Group, slot: Int
  ) {
    self.id = id
    self.peer = peer
    self.settings = settings
    self.incarnation = incarnation
    self.index = index
    self.group = group
    self.slot = slot
    inviter = id
  }

  func restore(_ row: EndpointRow) {
    rank = row.rank
    inviter = row.inviter
    isLocked = row.isLocked
    blocked = Set(row.blocked)
    banned = Set(row.banned)
    removed = Set(row.removed)
  }

  /// Whether it admits everybody whom the encryption rule allows.
  var isOpen: Bool {
    !isLocked && blocked.isEmpty && banned.isEmpty && removed.isEmpty && settings.trust == .any
  }

  private func choiceChanged() {
    group.dirty.touch(id)
    group.choiceChanged(of: self)
  }

  var terms: Terms {
    Terms(encryption: settings.encryption, showsIdentity: settings.identity != nil, peersMax: settings.peersMax)
  }

  var needs: Needs { Needs(settings.encryption) }
}

/// The state of ad hoc mode: an endpoint that connects with every peer of a service type.
struct Adhoc {
  var type: ServiceType
  /// When peers of this host that are in ad hoc mode, too, and no fellows are to be invited (again).
  var invitations = OrderedDictionary<PeerID, Instant>()
  /// When it looks again for local endpoints that it is not connected with.
  var gathersAt: Instant?
  /// Until when it leaves other hosts to the group of this host that is about to invite it.
  var joinsUntil: Instant?
  /// Invitations of others that wait for the accepted one, which usually makes them needless.
  var waiting: [InvitationID] = []
  var accepted: InvitationID?
  var restsSince: Instant?
  /// The last reported failure of each invited peer: the same is not reported again.
  var failures = OrderedDictionary<PeerID, Reason>()
}

extension Needs {
  init(_ encryption: Encryption) {
    switch encryption {
    case .optional: self = []
    case .required: self = .requiresEncryption
    case .none: self = .hasNone
    }
  }

  /// Whether everybody with these needs can be connected with everybody with those.
  func agrees(with other: Needs) -> Bool {
    !(contains(.requiresEncryption) && other.contains(.hasNone))
      && !(contains(.hasNone) && other.contains(.requiresEncryption))
  }
}
