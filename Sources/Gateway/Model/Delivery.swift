internal import Nearby
internal import Notation
internal import Reactor

/// What becomes of a reliable message that was sent from here, for each of its recipients.
struct Delivery {
  /// Of more recipients than these it is told how many are where, and not who.
  private static let namedMax = 64

  enum State: String, CaseIterable {
    case pending, delivered, undelivered, unknown

    init(_ fate: Fate) {
      self =
        switch fate {
        case .delivered: .delivered
        case .undelivered: .undelivered
        case .unknown: .unknown
        }
    }
  }

  /// The message's id.
  let message: String
  /// How much of the message's JSON stands before this.
  let headCount: Int
  private let recipients: [Member]
  private var states: [EndpointID: State] = [:]

  init(of message: String, _ headCount: Int, to recipients: [Member]) {
    self.message = message
    self.headCount = headCount
    self.recipients = recipients
  }

  var isSettled: Bool { states.count == recipients.count }

  mutating func tell(_ fate: Fate, for members: [Member]) {
    for member in members { states[member.id] = State(fate) }
  }

  var json: JSON {
    let counts = Dictionary(grouping: recipients, by: state).mapValues(\.count)
    var members = State.allCases.map { JSON.Member($0.rawValue, .number(counts[$0] ?? 0)) }
    if recipients.count <= Self.namedMax {
      members.append(
        .init(
          "recipients",
          .list(
            recipients.map {
              [
                "member": .text($0.id.text), "peer": .text($0.peer.text), "displayName": .text($0.name),
                "state": .text(state(of: $0).rawValue),
              ]
            })))
    }
    return .object(members)
  }

  private func state(of member: Member) -> State { states[member.id] ?? .pending }
}

extension Core {
  /// In which more of it may come, to be told at once.
  private static let deliveryDelay: Duration = .milliseconds(20)

  func told(_ fate: Fate, for members: [Member], of receipt: Receipt.ID, in model: SessionModel) {
    guard model.deliveries[receipt] != nil else { return }
    model.deliveries[receipt]?.tell(fate, for: members)
    if model.changedDeliveries.isEmpty {
      let id = model.id
      reactor.schedule(after: Self.deliveryDelay) { [weak self] in
        if let self, let model = sessions[id] { publishDeliveries(of: model) }
      }
    }
    model.changedDeliveries.insert(receipt)
  }

  private func publishDeliveries(of model: SessionModel) {
    // In the order in which they were sent.
    for receipt in model.changedDeliveries.sorted() {
      guard let delivery = model.deliveries[receipt] else { continue }
      // The message may be too old to be kept.
      if let item = model.messages[delivery.message] {
        model.messages.put(item, written: delivery.written(after: item.bytes.prefix(delivery.headCount)))
      }
      if delivery.isSettled { model.deliveries[receipt] = nil }
    }
    model.changedDeliveries = []
  }
}

extension Delivery {
  /// The whole message, of which this is the last member.
  func written(after head: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = Array(head)
    bytes += ",\"delivery\":".utf8
    json.write(to: &bytes)
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }
}
