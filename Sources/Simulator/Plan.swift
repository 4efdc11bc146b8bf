import Engine

/// A whole run before it happens: its hosts, its faults, and the steps of the peers' programs.
///
/// A seed and a scenario give one plan, and a plan gives one run; the shrinker leaves parts of a plan out.
public struct Plan: Sendable {
  public var scenario: Scenario
  public var seed: UInt64
  var hosts: [HostPlan] = []
  public var faults = Faults()
  var steps: [Step] = []
  /// When the world heals, in milliseconds.
  public var active = 40_000
  /// How long the healed world then has.
  public var settling = 45_000
  /// The rules of a calm world: without any excuse, nobody may ever be reported not connected.
  public var isCalm = false
  /// The latest delay of a message where traffic is the only disturbance; there, shares are to be fair.
  var delayMax: Int64?
  /// Several media between the hosts; none: one, with the wires of the faults.
  var media: [MediumPlan] = []
  /// The latest delay of a message while media change.
  var handoverMax: Int64?
  /// Whether every unreliable message arrives, except around the loss of a medium.
  var losesNothingUnreliable = false
  /// The engine rule that is switched off, for the canary.
  var sabotage: Sabotage = []

  init(_ scenario: Scenario, seed: UInt64) {
    self.scenario = scenario
    self.seed = seed
  }
}

/// One host of a plan. Without peers it does not exist.
struct HostPlan: Sendable {
  var peers: [PeerPlan] = []
  var isDurable = false
  var malice: Malice?
  /// Its attacks on circuits that it relays; else it is honest.
  var relayMalice: RelayMalice = []
  /// The number of another host whose key it has.
  var twinOf: Int?
  var start = 0
  /// The media of the plan that it has.
  var media: Set<Int> = [0]
  var settings = Settings()
}

/// One peer of a plan, and its program's answers.
struct PeerPlan: Sendable {
  var endpoints: [SessionSettings] = [SessionSettings()]
  var answer = Answering.accepts
  /// Milliseconds until the program answers, at most.
  var answerDelay = 200
  /// The chance of a yes to a member that waits for a decision: per mille; the rest is no.
  var trusts = 1_000
  /// Whether it answers decisions at all.
  var decides = true
  var invitesFoundPeers = false
  var showsIdentity = false

  enum Answering: Sendable { case accepts, declines, ignores, either }
}

/// A peer by host and place.
struct PeerRef: Hashable, Sendable, CustomStringConvertible {
  var host: Int
  var peer = 0
  var description: String { peer == 0 ? "h\(host)" : "h\(host).p\(peer)" }
}

struct Step: Sendable {
  /// Milliseconds.
  var at: Int
  var act: Act
}

enum Notice: Sendable { case both, first, second, neither }

enum Return: Sendable { case fresh, stored, backup }

enum Act: Sendable {
  // A peer's program.
  case advertise(PeerRef, type: Int, info: Int)
  case stopAdvertising(PeerRef, type: Int)
  case browse(PeerRef, type: Int)
  case stopBrowsing(PeerRef, type: Int)
  case invite(PeerRef, end: Int, PeerRef, type: Int, timeout: Int)
  case cancel(PeerRef)
  /// With the connection data of the second's end.
  case connect(PeerRef, end: Int, PeerRef, itsEnd: Int, timeout: Int)
  case adhoc(PeerRef, end: Int, type: Int)
  case stopAdhoc(PeerRef, end: Int)
  case leave(PeerRef, end: Int)
  case close(PeerRef, end: Int)
  case remove(PeerRef, end: Int, PeerRef, ban: Bool)
  case lock(PeerRef, end: Int, Bool)
  case block(PeerRef, end: Int, PeerRef, Bool)
  case send(PeerRef, end: Int, Sending)
  case stream(PeerRef, end: Int, PeerRef, Streaming)
  case offer(PeerRef, end: Int, PeerRef, Offering)
  case compare(PeerRef, PeerRef)
  case removePeer(PeerRef)
  /// Its program goes away, or comes back.
  case away(PeerRef, Bool)
  /// Its program reads the shared clock of its session.
  case readClock(PeerRef, end: Int)
  // The world.
  case cut(Int, Int, milliseconds: Int, Notice)
  case deafen(from: Int, to: Int, milliseconds: Int)
  case partition([Int], milliseconds: Int)
  case reset(Int, Int, Notice)
  case hide(Int, from: Int, milliseconds: Int)
  case crash(Int, back: Return, after: Int)
  /// To another address; whether it notices that its links are gone.
  case move(Int, isNoticed: Bool)
  case backUp(Int)
  /// One medium fails between two hosts.
  case outage(medium: Int, Int, Int, milliseconds: Int, Notice)
  /// A host's interface to a medium goes; whether it notices.
  case turnOff(medium: Int, Int, milliseconds: Int, isNoticed: Bool)
}

struct Sending: Sendable {
  var mode = Mode.reliable
  var count = 1
  var bytes = 24
  /// How many of the connected members get it; 0: all, by `RecipientIDs.all`.
  var recipients = 0
  var receipt = false
}
