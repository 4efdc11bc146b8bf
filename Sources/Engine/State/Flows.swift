import Wire

/// All streams and resources in progress, by this engine's own numbers.
struct Flows {
  private(set) var writers = OrderedDictionary<StreamID, StreamSender>()
  private(set) var readers = OrderedDictionary<StreamID, StreamReceiver>()
  private(set) var senders = OrderedDictionary<ResourceID, ResourceSender>()
  private(set) var receivers = OrderedDictionary<ResourceID, ResourceReceiver>()
  /// The number of flows of each member: most have none, and cost nothing when they go.
  private var counts: [EndpointID: Int] = [:]
  /// Resources by pair, and by the number that the member's host gave them.
  private var sent: [Pair: Int] = [:]
  private var offered: [Pair: Int] = [:]
  private var sendersByName: [FlowName: ResourceSender] = [:]
  private var receiversByName: [FlowName: ResourceReceiver] = [:]

  private struct FlowName: Hashable {
    var host: HostID
    var flow: UInt64
  }

  func sender(_ flow: UInt64, to host: HostID) -> ResourceSender? { sendersByName[FlowName(host: host, flow: flow)] }
  func receiver(_ flow: UInt64, from host: HostID) -> ResourceReceiver? {
    receiversByName[FlowName(host: host, flow: flow)]
  }

  /// In progress, or ended and not yet acknowledged by the other side.
  func countSent(_ pair: Pair) -> Int { sent[pair] ?? 0 }
  func countOffered(_ pair: Pair) -> Int { offered[pair] ?? 0 }

  mutating func add(_ writer: StreamSender) {
    writers[writer.id] = writer
    count(writer.pair, 1)
  }

  mutating func add(_ reader: StreamReceiver) {
    readers[reader.id] = reader
    count(reader.pair, 1)
  }

  mutating func add(_ sender: ResourceSender) {
    senders[sender.id] = sender
    sendersByName[FlowName(host: sender.host, flow: sender.flow)] = sender
    sent[sender.pair, default: 0] += 1
    count(sender.pair, 1)
  }

  mutating func add(_ receiver: ResourceReceiver) {
    receivers[receiver.id] = receiver
    receiversByName[FlowName(host: receiver.host, flow: receiver.flow)] = receiver
    offered[receiver.pair, default: 0] += 1
    count(receiver.pair, 1)
  }

  mutating func remove(_ stream: StreamID) {
    if let pair = writers[stream]?.pair ?? readers[stream]?.pair { count(pair, -1) }
    writers[stream] = nil
    readers[stream] = nil
  }

  mutating func remove(_ transfer: Transfer) {
    let name = FlowName(host: transfer.host, flow: transfer.flow)
    count(transfer.pair, -1)
    if transfer is ResourceSender {
      senders[transfer.id] = nil
      sendersByName[name] = nil
      Self.decrease(&sent, transfer.pair)
    } else {
      receivers[transfer.id] = nil
      receiversByName[name] = nil
      Self.decrease(&offered, transfer.pair)
    }
  }

  func transfer(_ id: ResourceID) -> Transfer? { senders[id] ?? receivers[id] }

  /// Outgoing ones first, then incoming ones.
  func transfers(where test: (Pair) -> Bool) -> [Transfer] {
    senders.values(where: { test($0.pair) }) + receivers.values(where: { test($0.pair) })
  }

  private static func decrease(_ counts: inout [Pair: Int], _ pair: Pair) {
    let count = counts[pair, default: 0] - 1
    counts[pair] = count <= 0 ? nil : count
  }

  private mutating func count(_ pair: Pair, _ change: Int) {
    let count = counts[pair.member, default: 0] + change
    counts[pair.member] = count == 0 ? nil : count
  }

  func concern(_ member: EndpointID) -> Bool { counts[member] != nil }

  /// The members of a cohort that have flows, at the cost of the smaller of the two sets.
  func concerned(of cohort: Cohort) -> [RemoteMember] {
    if counts.count > cohort.members.count { return cohort.members.filter { counts[$0.id] != nil } }
    return counts.keys.compactMap { cohort.presence.members[$0] }.filter { $0.cohort === cohort }
      .sorted { $0.place < $1.place }
  }
}
