import Wire

/// A round-robin queue of flows of one kind that have something to send and may. The endpoints take turns, and so do
/// the flows of each: one chunk for each turn, so that many or large flows of one do not starve another's: there is
/// no head-of-line blocking.
struct Lane<Flow: AnyObject>: ~Copyable {
  private final class Queue {
    let endpoint: EndpointID
    var flows = Deque<Flow>()

    init(of endpoint: EndpointID) { self.endpoint = endpoint }
  }

  /// The queues that are not empty, in their order.
  private var turns = Deque<Queue>()
  private var queues: [EndpointID: Queue] = [:]

  var isEmpty: Bool { turns.isEmpty }

  mutating func add(_ flow: Flow, of endpoint: EndpointID) {
    let queue = queues[endpoint] ?? Queue(of: endpoint)
    if queue.flows.isEmpty {
      turns.append(queue)
      queues[endpoint] = queue
    }
    queue.flows.append(flow)
  }

  /// Removes and returns the next flow; one that still has something to send then is to be added again.
  mutating func next(keepsTurn: Bool = false) -> Flow? {
    guard let queue = turns.first, let flow = queue.flows.first else { return nil }
    queue.flows.removeFirst()
    if keepsTurn, !queue.flows.isEmpty { return flow }
    turns.removeFirst()
    if !queue.flows.isEmpty {
      turns.append(queue)
    } else if queues.count > Self.idleMax {
      queues[queue.endpoint] = nil
    }
    return flow
  }

  /// Removes a flow out of turn.
  mutating func remove(_ flow: Flow, of endpoint: EndpointID) {
    guard let queue = queues[endpoint] else { return }
    queue.flows.removeAll { $0 === flow }
    if queue.flows.isEmpty { turns.removeAll { $0 === queue } }
  }

  /// How many endpoints keep their empty queue: a sender usually sends again.
  private static var idleMax: Int { 16 }
}

/// A guard against starvation by strict priority: a queue that was passed over for enough bytes goes next.
struct StarvationGuard {
  private var bytes = 0

  var isOver: Bool { bytes >= Self.bytesMax }

  /// Eight chunks: the preferred queue has eight parts in nine, where all have much to send.
  private static let bytesMax = 8 * Limits.chunkBytes

  mutating func passOver(by bytes: Int) { self.bytes += bytes }
  mutating func restore() { bytes = 0 }
}

/// The streams and resources of a bond, by their numbers on the wire, and their scheduling.
final class Lanes {
  var writers: [UInt64: StreamSender] = [:]
  var readers = OrderedDictionary<UInt64, StreamReceiver>()
  /// Reported streams that have not ended, or whose bytes are not all consumed.
  var unread: Set<StreamID> = []
  var senders: [UInt64: ResourceSender] = [:]
  var receivers = OrderedDictionary<UInt64, ResourceReceiver>()
  var streams = Lane<StreamSender>()
  var resources = Lane<ResourceSender>()
  /// Records that carry a resource's end, in order; once they are acknowledged the end can be forgotten.
  private(set) var unacknowledgedEnds: [(ordinal: UInt64, resource: ResourceID)] = []

  func expectAcknowledgement(of resource: ResourceID, at ordinal: UInt64) {
    let isNewest = unacknowledgedEnds.last.map { $0.ordinal <= ordinal } ?? true
    unacknowledgedEnds.append((ordinal, resource))
    if !isNewest { unacknowledgedEnds.sort { $0.ordinal < $1.ordinal } }
  }

  /// Removes and returns those that the other side has acknowledged, with its records up to `first`.
  func takeAcknowledgedEnds(before first: UInt64) -> [ResourceID] {
    let heard = unacknowledgedEnds.prefix { $0.ordinal < first }.map(\.resource)
    unacknowledgedEnds.removeFirst(heard.count)
    return heard
  }

  /// Resets all sending for a new link, on which no credit has been granted yet.
  func beginLink() {
    streams = Lane()
    resources = Lane()
    for writer in writers.values { writer.beginLink() }
    for sender in senders.values {
      sender.isQueued = false
      sender.beginLink()
    }
    for receiver in receivers.values { receiver.beginLink() }
  }

  func add(_ sender: ResourceSender) {
    // A sender that was queued in the lanes of another bond is not queued in these.
    if senders[sender.flow] !== sender { sender.isQueued = false }
    senders[sender.flow] = sender
  }

  func remove(_ transfer: Transfer) {
    guard let sender = transfer as? ResourceSender else { return receivers[transfer.flow] = nil }
    senders[sender.flow] = nil
    guard sender.isQueued else { return }
    sender.isQueued = false
    resources.remove(sender, of: sender.pair.local)
  }

  func wake(_ writer: StreamSender) {
    guard writer.canSend, !writer.isQueued else { return }
    writer.isQueued = true
    streams.add(writer, of: writer.pair.local)
  }

  func wake(_ sender: ResourceSender) {
    guard sender.canSend, !sender.isQueued else { return }
    sender.isQueued = true
    resources.add(sender, of: sender.pair.local)
  }

  var hasUnsent: Bool { !streams.isEmpty || !resources.isEmpty }

  /// Guards of flows behind records, and of resources behind streams.
  var recordGuard = StarvationGuard()
  var resourceGuard = StarvationGuard()
}
