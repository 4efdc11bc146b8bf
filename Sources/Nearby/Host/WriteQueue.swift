internal import Engine

/// What is on its way to the store: one load at a time.
///
/// Law: a batch of the engine has all that was noted up to its moment, and nothing of what was noted later, which may rest
/// on what only the next batch will hold.
struct WriteQueue {
  struct Load {
    /// Of the engine, where it has a part in it.
    var batch: UInt64?
    var facts: [Fact] = []
    var changes: [HostStore.Change] = []
    var afterwards: [(_ isStored: Bool) -> Void] = []

    var isEmpty: Bool { batch == nil && changes.isEmpty }
    /// Whether the disk had anything to do with it.
    var isWritten: Bool { !facts.isEmpty || !changes.isEmpty }
  }

  var next = Load()
  /// With a batch of the engine, which has no other under way: it waits for the current one.
  private var sealed: Load?
  private(set) var current: Load?
  var isFailing = false
  /// How many have something under way that belongs together.
  var holds = 0
  /// One of them: what is noted waits for more, for a moment.
  var isDelaying = false

  /// Whether what is noted by now goes into the next load; else more may come together there.
  var isDue: Bool { next.batch != nil || current == nil && sealed == nil }

  /// The moment of the engine's batch, if it has said one, is over.
  mutating func seal() {
    guard next.batch != nil else { return }
    precondition(sealed == nil, "two batches at once")
    sealed = next
    next = Load()
  }

  /// Whether there is something to write.
  mutating func begin() -> Bool {
    if current != nil || sealed == nil && next.isEmpty { return false }
    if let load = sealed.take() {
      current = load
    } else {
      current = next
      next = Load()
    }
    return true
  }

  mutating func end() -> Load? { current.take() }

  /// What was to follow when it was written, and will not be.
  mutating func giveUp() -> [(_ isStored: Bool) -> Void] {
    defer { (next, sealed, current) = (Load(), nil, nil) }
    return (current?.afterwards ?? []) + (sealed?.afterwards ?? []) + next.afterwards
  }
}
