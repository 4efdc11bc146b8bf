import Wire

/// The state of the members of a cohort with local slots: one row for all of them.
struct CohortRow: Part {
  /// 0 where they have not joined.
  var strand: UInt32 = 0
  /// met, trusted, admits, admitted, refused, connected, refusedThere
  private var sets = [SlotSet](repeating: SlotSet(), count: setCount)

  private static let setCount = 7

  init() {}

  init(_ cohort: Cohort) {
    strand = cohort.strand ?? 0
    let relations = cohort.relations
    sets = [
      relations.met, relations.trusted, relations.admits, relations.admitted, relations.refused, relations.connected,
      relations.refusedThere,
    ]
  }

  var relations: Relations {
    Relations(
      connected: sets[5], admitted: sets[3], admits: sets[2], announced: sets[2], refused: sets[4],
      refusedThere: sets[6], met: sets[0], trusted: sets[1])
  }

  init(from reader: inout Reader) throws(WireError) {
    strand = try reader.varint32("strand")
    for place in sets.indices { sets[place] = try SlotSet(from: &reader) }
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: strand)
    for set in sets { set.encode(into: &sink) }
  }
}

extension SlotSet: Part {
  private static let wordsMax = Int(EndpointRow.slotsMax) / 64

  init(from reader: inout Reader) throws(WireError) {
    var words: [UInt64] = []
    for _ in 0..<(try reader.count("slots", max: Self.wordsMax)) { words.append(try reader.u64()) }
    self.init(words: words)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    let words = words
    sink.put(count: words.count, max: Self.wordsMax)
    for word in words { sink.put(u64: word) }
  }
}
