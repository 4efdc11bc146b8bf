import Wire

/// A stream of a plan: how its writer writes it, and how its reader reads.
struct Streaming: Sendable {
  var bytes = 20_000
  /// Bytes of each write.
  var write = 4_000
  /// Milliseconds between two writes; 0: as soon as one is accepted.
  var pause = 0
  var ending = Ending.closes
  var reading = Reading.atOnce

  enum Ending: Hashable, Sendable {
    case closes
    case cancels(Reason)
    case staysOpen
  }

  enum Reading: Hashable, Sendable {
    case atOnce
    /// So many bytes in each tenth of a second.
    case slowly(Int)
    /// Nothing for so many milliseconds after so many bytes.
    case pauses(after: Int, milliseconds: Int)
    case never
    case cancels(after: Int, Reason)
    case closes(after: Int)
  }
}

/// A resource of a plan: its sender's offer, its receiver's answer, and the faults of either file.
struct Offering: Sendable {
  var bytes = 100_000
  var knowsSize = true
  var root = Root.unknown
  var answer = Answer.accepts
  /// Milliseconds until the receiver's program answers, at most.
  var answerDelay = 200
  /// The side that cancels it, and how many milliseconds after the offer.
  var cancel: Cancel?
  /// How often a chunk in the middle is found damaged as it is written.
  var damages = 0
  /// The offsets where the source cannot be read, or the file not be written.
  var unreadableAt: UInt64?
  var unwritableAt: UInt64?

  enum Root: Sendable { case unknown, known, wrong }
  enum Answer: Sendable { case accepts, declines, never }

  struct Cancel: Hashable, Sendable {
    var isSenders: Bool
    var after: Int
  }
}
