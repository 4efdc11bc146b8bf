import Wire

/// A circuit's part on one link: the bytes that are to go out over it, and the credit in both directions.
///
/// Invariant: `queue` holds a window at most, and takes no more memory. Whoever fills it, a leg on another link or this
/// host's medium, has credit for no more.
final class CircuitLeg {
  enum Far {
    /// The circuit goes on over another link.
    case leg(CircuitLeg)
    /// This host waits for a link to the host at its far end.
    case awaited(HostID)
    /// This host is at its end.
    case medium(CircuitID)
    /// The far side has ended it: the queue goes out, and then the end.
    case none
  }

  let link: Link
  let number: UInt32
  /// The host whose bytes go out over it: this one, or that at the far side of a relay.
  let source: HostID
  let isOpenedHere: Bool
  /// The host that this one's medium wants to reach by it, until there is a link over it.
  var target: HostID?
  var far: Far
  /// Whether its far end has taken it.
  var isOpen = false
  /// When it is refused, unless it is open by then.
  let due: Instant?
  let queue = ByteQueue(enough: Limits.circuitWindowBytes)
  /// Bytes that may go out, and that may come in.
  var credit = Limits.circuitWindowBytes
  private(set) var window = Limits.circuitWindowBytes
  /// Bytes that have come in and gone on, and are not granted again yet.
  private var passed = 0
  /// The reason of its end, which goes out once its queue is empty.
  var end: Reason?
  var hasTurn = false
  /// Whether the medium was told that the queue is full.
  var isMediumWaiting = false

  init(on link: Link, number: UInt32, from source: HostID, isOpenedHere: Bool, far: Far, due: Instant? = nil) {
    self.link = link
    self.number = number
    self.source = source
    self.isOpenedHere = isOpenedHere
    self.far = far
    self.due = due
  }

  var room: Int { max(0, Limits.circuitWindowBytes - queue.count) }
  var canSend: Bool { queue.count > 0 && credit > 0 }

  /// False where the other side sends more than it may.
  func take(_ bytes: Int) -> Bool {
    guard bytes <= window else { return false }
    window -= bytes
    return true
  }

  /// Bytes that came in have gone on; returns the next grant, if one is due.
  func passOn(_ bytes: Int) -> UInt32? {
    passed += bytes
    guard passed >= Self.grantBytes else { return nil }
    defer { passed = 0 }
    window += passed
    return UInt32(passed)
  }

  /// A quarter of the window: the sender goes on while the grant is on its way.
  private static let grantBytes = Limits.circuitWindowBytes / 4
}

/// The circuits of one link, and their turns: those of each host in turn, so that one with many of them has no more of
/// the link than one with a single one.
final class LinkCircuits {
  private final class Source {
    let host: HostID
    var count = 0
    var turns = Deque<CircuitLeg>()

    init(_ host: HostID) { self.host = host }
  }

  private(set) var legs = OrderedDictionary<UInt32, CircuitLeg>()
  private var sources = OrderedDictionary<HostID, Source>()
  private var turns = Deque<Source>()
  /// A guard of circuits behind records and flows.
  var starvation = StarvationGuard()
  private var last: UInt32

  /// Own numbers are odd on the side that dialled.
  init(isDialed: Bool) { last = isDialed ? .max : 0 }

  func nextNumber() -> UInt32 {
    repeat { last &+= 2 } while last == 0 || legs.contains(last)
    return last
  }

  var hasUnsent: Bool { !turns.isEmpty }

  /// Adds the hosts whose bytes wait here.
  func addSources(to hosts: inout OrderedDictionary<HostID, Bool>) {
    for place in 0..<turns.count { hosts[turns[place].host] = true }
  }

  /// The circuit whose turn it is, of those that may send now; the others' turns are put off.
  func first(where maySend: (CircuitLeg) -> Bool) -> CircuitLeg? {
    for _ in 0..<turns.count {
      guard let source = turns.first, let leg = source.turns.first else { return nil }
      if maySend(leg) { return leg }
      turns.removeFirst()
      turns.append(source)
    }
    return nil
  }

  func addTurn(_ leg: CircuitLeg) {
    guard leg.canSend, !leg.hasTurn, let source = sources[leg.source] else { return }
    leg.hasTurn = true
    if source.turns.isEmpty { turns.append(source) }
    source.turns.append(leg)
  }

  /// Ends the first turn; a leg that can still send is the last of its host now.
  func endTurn() {
    guard let source = turns.first, let leg = source.turns.first else { return }
    turns.removeFirst()
    source.turns.removeFirst()
    leg.hasTurn = false
    if !source.turns.isEmpty { turns.append(source) }
    addTurn(leg)
  }

  func add(_ leg: CircuitLeg) {
    legs[leg.number] = leg
    let source = sources[leg.source] ?? Source(leg.source)
    source.count += 1
    sources[leg.source] = source
  }

  func remove(_ leg: CircuitLeg) {
    guard legs.removeValue(forKey: leg.number) != nil, let source = sources[leg.source] else { return }
    source.count -= 1
    if source.count == 0 { sources[leg.source] = nil }
    guard leg.hasTurn else { return }
    leg.hasTurn = false
    source.turns.removeAll { $0 === leg }
    if source.turns.isEmpty { turns.removeAll { $0 === source } }
  }
}
