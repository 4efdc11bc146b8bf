import Wire

/// The stored form of `Refusals`: the keys, and how often nobody answered. A pause in progress begins anew after a
/// restart, since moments mean nothing to the next run.
struct RefusalsRow<Key: OrderedDictionaryKey & Part>: Part {
  var refusals: [Entry]

  struct Entry: Part {
    var key: Key
    var unanswered: UInt32

    init(key: Key, unanswered: UInt32) {
      self.key = key
      self.unanswered = unanswered
    }

    init(from reader: inout Reader) throws(WireError) {
      key = try Key(from: &reader)
      unanswered = try reader.varint32("unanswered")
    }

    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      key.encode(into: &sink)
      sink.put(varint: unanswered)
    }
  }

  init(_ refusals: Refusals<Key>) { self.refusals = refusals.entries }

  init(from reader: inout Reader) throws(WireError) {
    refusals = try reader.list("refusals", max: Refusals<Key>.countMax)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(list: refusals, max: Refusals<Key>.countMax)
  }
}

extension Refusals where Key: Part {
  /// Restores stored refusals.
  init(_ row: RefusalsRow<Key>, restingUntil rest: Instant) {
    for entry in row.refusals {
      restore(entry.key, unanswered: Int(entry.unanswered), restsUntil: rest)
    }
  }

  /// In the order in which they came.
  fileprivate var entries: [RefusalsRow<Key>.Entry] {
    counts.map { RefusalsRow<Key>.Entry(key: $0, unanswered: UInt32(clamping: $1)) }
  }
}
