import Engine
import Wire

/// An endpoint in truth: its owner, its program's decisions, and its events.
final class EndpointRecord {
  let id: EndpointID
  let ref: PeerRef
  let peer: PeerID
  let settings: SessionSettings
  /// The run of the host in which it was opened.
  let run: Int
  var isOpen = true
  /// Its host forgot it.
  var isGone = false
  var leaves = 0
  var leftAt: Int64 = -1 << 60
  /// It invited, accepted, or went into ad hoc mode since it last left.
  var isSeeking = false
  var adhoc: Int? { didSet { wasAdhoc = wasAdhoc || adhoc != nil } }
  private(set) var wasAdhoc = false
  var isWatched = true

  // Its program's decisions.
  var choices = Choices()
  var everLocked = false
  var invitedAfterLock: Set<PeerID> = []
  var everBlocked: Set<PeerID> = []
  var everBanned: Set<PeerID> = []
  var decided: [EndpointID: Bool] = [:]
  /// How often it had left when it last said yes to another.
  var saidYes: [EndpointID: Int] = [:]
  /// Removed, banned, or not trusted at some time.
  var everRefused: Set<EndpointID> = []

  struct Removal {
    var at: Int64
    /// How often the other had left before.
    var leaves: Int
  }

  /// Choices that a crash undoes where it comes before they are stored.
  struct Choices {
    var isLocked = false
    var blocked: Set<PeerID> = []
    var banned: [PeerID: Int64] = [:]
    var removed: [EndpointID: Removal] = [:]
  }

  // Its possible members: a label that invitations join, and those it had before it left.
  var group: Int
  var groupsBefore: [Int] = []
  /// The other endpoints of its invitations that were reported as having come to a session.
  var joinedWith: [EndpointID] = []
  /// Its members when its host crashed, and how often they had left before: it may have stored that.
  var metBefore: [EndpointID: Int] = [:]
  /// Those that a lock did not keep out before its host crashed.
  var knownBefore: Set<EndpointID> = []

  // Its events.
  var pairs: [EndpointID: PairRecord] = [:]
  var pairOrder: [EndpointID] = []
  var mustMatch = false
  var tooManySince: Int64?
  /// Reliable payload bytes that a host has neither received nor been given up on.
  var underway: [Int: Int] = [:]
  /// When the last of that had arrived; its acknowledgement may still wait behind traffic in the other direction.
  var caughtUpAt: [Int: Int64] = [:]

  /// Ends of one peer beyond the first have their number in the label.
  var label: String

  init(id: EndpointID, ref: PeerRef, peer: PeerID, settings: SessionSettings, run: Int, group: Int, place: Int) {
    self.id = id
    self.ref = ref
    self.peer = peer
    self.settings = settings
    self.run = run
    self.group = group
    label = place == 0 ? ref.description : "\(ref).e\(place)"
  }

  var isKept: Bool { isOpen && !isGone }

  func resetPairs() {
    metBefore = [:]
    for remote in pairOrder {
      guard let pair = pairs[remote] else { continue }
      if pair.isKnown { knownBefore.insert(remote) }
      guard pair.state == .connected || pair.state == .connecting else { continue }
      metBefore[remote] = pair.leavesMet
    }
    pairs = [:]
    pairOrder = []
    tooManySince = nil
  }

  func pair(_ remote: EndpointID) -> PairRecord {
    if let known = pairs[remote] { return known }
    let made = PairRecord()
    pairs[remote] = made
    pairOrder.append(remote)
    return made
  }
}

/// One endpoint's view of another.
final class PairRecord {
  enum State { case none, connecting, connected, leaving, notConnected }

  var state = State.none
  var suspendedAt: Int64?
  /// Since when the other is away, by the clock of this one's host.
  var awaySince: Instant?
  var wasConnected: Bool { connections > 0 }
  var connections = 0
  /// Whether it was met while no lock kept it out.
  var isKnown = false
  var since: Int64 = 0
  /// How often the other had left when this was last reported.
  var leavesTold = -1
  var leavesMet = 0
  /// The number of the last reliable message from it, by the run of this host.
  var messageLast = -1
}
