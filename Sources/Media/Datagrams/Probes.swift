internal import Reactor
internal import Wire

/// The open probes, by the random number that the answer must repeat.
///
/// Invariant: no more than twice `openMax` are kept, and none for longer than twice `life`: two generations, of which
/// the older one goes when the newer is full or old.
struct Probes {
  struct Question {
    let host: HostID
    let tag: UInt64
  }

  private static let openMax = 4_096
  private static let life: UInt64 = 4_000_000_000

  private var fresh: [UInt64: Question] = [:]
  private var stale: [UInt64: Question] = [:]
  private var begun: UInt64 = 0

  /// The number for a new question.
  mutating func ask(_ question: Question, at now: UInt64) -> UInt64 {
    if now - begun > Self.life || fresh.count == Self.openMax {
      // A pause for longer than both makes both old.
      stale = now - begun > 2 * Self.life ? [:] : fresh
      fresh = [:]
      begun = now
    }
    let nonce = UInt64.random(in: .min ... .max)
    fresh[nonce] = question
    return nonce
  }

  /// Whether the question is one of these.
  func holds(_ nonce: UInt64) -> Bool { fresh[nonce] != nil || stale[nonce] != nil }

  /// Removes and returns the question of this answer; each is answered once.
  mutating func take(_ nonce: UInt64, by host: HostID) -> Question? {
    guard let question = fresh[nonce] ?? stale[nonce], question.host == host else { return nil }
    fresh[nonce] = nil
    stale[nonce] = nil
    return question
  }
}

/// A rate limit (throttle) on answers: a token bucket of 32, refilled at 32 a second, for all addresses in one of 256
/// slots. A room full of hosts that probe every few seconds has enough; a flood takes it from few others, and cannot
/// make the port send more than 8,192 answers a second, of 25 bytes.
struct AnswerAllowance {
  private static let interval: UInt64 = 1_000_000_000 / 32
  private static let burst: UInt64 = 32

  /// When the tokens used so far will have been refilled.
  private var paid = [UInt64](repeating: 0, count: 256)

  /// Returns whether there was a token.
  mutating func takeToken(for address: SocketAddress, at now: UInt64) -> Bool {
    let slot = Self.slot(of: address)
    let due = max(paid[slot], now)
    guard due - now < Self.burst * Self.interval else { return false }
    paid[slot] = due + Self.interval
    return true
  }

  /// The hash is seeded at random, so that nobody outside knows the slot.
  private static func slot(of address: SocketAddress) -> Int {
    var hasher = Hasher()
    hasher.combine(AddressGroup(address))
    return hasher.finalize() & 255
  }
}
