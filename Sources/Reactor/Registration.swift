internal import CLinux

/// The readiness of a descriptor, or the interest in it.
public struct Readiness: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let readable = Readiness(rawValue: 1)
  public static let writable = Readiness(rawValue: 2)
  /// An error or a hang-up; always watched for. Reading or writing returns it.
  public static let failed = Readiness(rawValue: 4)

  /// Edge-triggered: reported once each time that more has come, instead of as long as something is there.
  public static let once = Readiness(rawValue: 8)

  init(epoll events: UInt32) {
    self = []
    if events & EPOLLIN.rawValue != 0 { insert(.readable) }
    if events & EPOLLOUT.rawValue != 0 { insert(.writable) }
    if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { insert(.failed) }
  }

  var epoll: UInt32 {
    (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
      | (contains(.once) ? EPOLLET.rawValue : 0)
  }
}

/// One descriptor's place in a reactor. It ends once and never comes back: a later one in the same place has another
/// generation.
public struct Registration: Sendable, Hashable {
  fileprivate let slot: UInt32
  fileprivate let generation: UInt32

  /// The tag that the kernel returns with each event.
  var tag: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// The live registrations, each in a slot that is reused under a new generation.
struct RegistrationTable {
  // No slot reaches these.
  static let wakeupTag = UInt64.max
  static let clockTag = UInt64.max - 1

  private struct Slot {
    var generation: UInt32 = 0
    var descriptor: CInt = -1
    var interest: Readiness = []
    /// Nil while nothing is registered here.
    var handler: ((Readiness) -> Void)?
  }

  private var slots: [Slot] = []
  private var free: [UInt32] = []

  mutating func insert(
    _ descriptor: CInt, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void
  ) -> Registration {
    if free.isEmpty {
      free.append(UInt32(slots.count))
      slots.append(Slot())
    }
    let slot = free.removeLast()
    let generation = slots[Int(slot)].generation
    slots[Int(slot)] = Slot(generation: generation, descriptor: descriptor, interest: interest, handler: handler)
    return Registration(slot: slot, generation: generation)
  }

  @discardableResult
  mutating func remove(_ registration: Registration) -> CInt? {
    guard let descriptor = descriptor(of: registration) else { return nil }
    slots[Int(registration.slot)] = Slot(generation: registration.generation &+ 1)
    free.append(registration.slot)
    return descriptor
  }

  mutating func removeAll() -> [(Readiness) -> Void] {
    let handlers = slots.compactMap(\.handler)
    for slot in slots.indices where slots[slot].handler != nil {
      remove(Registration(slot: UInt32(slot), generation: slots[slot].generation))
    }
    return handlers
  }

  /// Changes the interest; nil if the kernel need not be called.
  mutating func change(_ registration: Registration, to interest: Readiness) -> CInt? {
    guard let descriptor = descriptor(of: registration) else { return nil }
    let place = Int(registration.slot)
    if slots[place].interest == interest, !interest.contains(.once) { return nil }
    slots[place].interest = interest
    return descriptor
  }

  func descriptor(of registration: Registration) -> CInt? {
    let place = Int(registration.slot)
    return slots[place].generation == registration.generation ? slots[place].descriptor : nil
  }

  /// Nil where the event is stale.
  func handler(tagged tag: UInt64) -> ((Readiness) -> Void)? {
    let place = Int(UInt32(truncatingIfNeeded: tag))
    return slots[place].generation == UInt32(tag >> 32) ? slots[place].handler : nil
  }
}
