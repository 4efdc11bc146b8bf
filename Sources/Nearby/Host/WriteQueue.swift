internal import Engine
internal import Store

/// The queue of writes to the store: one transaction at a time.
///
/// Invariant: a batch of the engine has all changes up to its moment, and no later ones, which may depend on the next
/// batch.
struct WriteQueue {
  struct Load {
    /// The engine's batch, if there is one.
    var batch: UInt64?
    var facts: [Fact] = []
    var changes: [DatabaseChange] = []
    var afterwards: [(_ isStored: Bool) -> Void] = []

    var isEmpty: Bool { batch == nil && changes.isEmpty && afterwards.isEmpty }
    /// Whether the disk had anything to write.
    var isWritten: Bool { !facts.isEmpty || !changes.isEmpty }
  }

  var next = Load()
  /// With a batch of the engine, which has no other in flight: it waits for the current one.
  private var sealed: Load?
  private(set) var current: Load?
  var isFailing = false
  /// Nested holds on the queue, one for each open transaction.
  var holds = 0
  /// Whether one of them is the delay of a group commit.
  var isDelaying = false

  /// Whether changes up to now go into the next write; else more may gather there.
  var isDue: Bool { next.batch != nil || current == nil && sealed == nil }

  mutating func seal() {
    guard next.batch != nil else { return }
    precondition(sealed == nil, "two batches at once")
    sealed = next
    next = Load()
  }

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

  /// Returns the callbacks of writes that will not happen.
  mutating func giveUp() -> [(_ isStored: Bool) -> Void] {
    defer { (next, sealed, current) = (Load(), nil, nil) }
    return (current?.afterwards ?? []) + (sealed?.afterwards ?? []) + next.afterwards
  }
}
