import Wire

/// What the host is asked to store; nothing without a store.
struct Store {
  var restored: [Fact] = []

  mutating func appended(_ bond: Bond) {}
  mutating func received(_ bond: Bond, _ strand: IncomingStrand) {
    bond.stored = bond.received
    strand.stored = strand.received
  }
  mutating func dropped(_ bond: Bond) {}
  mutating func forget(_ bond: Bond) {}
  func fence(of bond: Bond) -> UInt64 { .max }
}

extension Engine {
  func flushStore() {}
  func restore(_ peer: LocalPeer) {}
  public func persisted(_ batch: UInt64, at now: Instant) {}
}
