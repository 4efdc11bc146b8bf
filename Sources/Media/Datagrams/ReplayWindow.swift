/// A sliding replay window: which of the newest 128 counters have been used, so that each is accepted once. Older ones
/// are refused.
struct ReplayWindow {
  private(set) var newest: UInt64 = 0
  /// Bit n: the newest less n was used. Nothing has counter 0.
  private var used: UInt128 = 1

  func isFresh(_ counter: UInt64) -> Bool {
    if counter > newest { return true }
    let age = newest - counter
    return age < UInt64(UInt128.bitWidth) && used & (1 << UInt128(age)) == 0
  }

  mutating func use(_ counter: UInt64) {
    if counter > newest {
      // A shift by its width or more leaves nothing.
      used = used << UInt128(min(counter - newest, UInt64(UInt128.bitWidth))) | 1
      newest = counter
    } else if newest - counter < UInt64(UInt128.bitWidth) {
      used |= 1 << UInt128(newest - counter)
    }
  }
}
