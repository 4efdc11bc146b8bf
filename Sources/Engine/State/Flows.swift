import Wire

/// All streams and resources under way, by this engine's own numbers.
struct Flows {
  private(set) var writers = Table<StreamID, StreamWriter>()
  private(set) var readers = Table<StreamID, StreamReader>()
  private(set) var senders = Table<ResourceID, ResourceSender>()
  private(set) var receivers = Table<ResourceID, ResourceReceiver>()
  /// How many each member has: most have none, and cost nothing when they go.
  private var counts: [EndpointID: Int] = [:]

  mutating func add(_ writer: StreamWriter) {
    writers[writer.id] = writer
    count(writer.pair, 1)
  }

  mutating func add(_ reader: StreamReader) {
    readers[reader.id] = reader
    count(reader.pair, 1)
  }

  mutating func add(_ sender: ResourceSender) {
    senders[sender.id] = sender
    count(sender.pair, 1)
  }

  mutating func add(_ receiver: ResourceReceiver) {
    receivers[receiver.id] = receiver
    count(receiver.pair, 1)
  }

  mutating func remove(_ stream: StreamID) {
    if let pair = writers[stream]?.pair ?? readers[stream]?.pair { count(pair, -1) }
    writers[stream] = nil
    readers[stream] = nil
  }

  mutating func remove(_ resource: ResourceID) {
    if let pair = senders[resource]?.pair ?? receivers[resource]?.pair { count(pair, -1) }
    senders[resource] = nil
    receivers[resource] = nil
  }

  private mutating func count(_ pair: Pair, _ change: Int) {
    let count = counts[pair.member, default: 0] + change
    counts[pair.member] = count == 0 ? nil : count
  }

  func concern(_ member: EndpointID) -> Bool { counts[member] != nil }

  /// Those of a cohort that have any, at the cost of the fewer of the two.
  func concerned(of cohort: Cohort) -> [Member] {
    if counts.count > cohort.members.count { return cohort.members.filter { counts[$0.id] != nil } }
    return counts.keys.compactMap { cohort.presence.members[$0] }.filter { $0.cohort === cohort }
      .sorted { $0.place < $1.place }
  }
}
