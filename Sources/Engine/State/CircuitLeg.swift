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

  init(on link: Link, number: UInt32, isOpenedHere: Bool, far: Far, due: Instant? = nil) {
    self.link = link
    self.number = number
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

/// The circuits of one link, and their turns.
final class LinkCircuits {
  var legs = OrderedDictionary<UInt32, CircuitLeg>()
  private var turns = Deque<CircuitLeg>()
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
  var first: CircuitLeg? { turns.first }

  func addTurn(_ leg: CircuitLeg) {
    guard leg.canSend, !leg.hasTurn else { return }
    leg.hasTurn = true
    turns.append(leg)
  }

  /// Ends the first turn; a leg that can still send is last now.
  func endTurn() {
    guard let leg = turns.first else { return }
    turns.removeFirst()
    leg.hasTurn = false
    addTurn(leg)
  }

  func remove(_ leg: CircuitLeg) {
    legs[leg.number] = nil
    if leg.hasTurn { turns.removeAll { $0 === leg } }
    leg.hasTurn = false
  }
}
