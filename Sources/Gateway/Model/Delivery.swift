internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Wire

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

  private struct Recipient {
    let member: String
    let peer: String
    let name: String
    var state = State.pending

    var json: JSON {
      [
        "member": .text(member), "peer": .text(peer), "displayName": .text(name), "state": .text(state.rawValue),
      ]
    }
  }

  /// The message's id, where that is not known otherwise.
  let message: String
  /// How much of the message's JSON stands before this.
  private(set) var headCount: Int
  private var recipients: [Recipient]
  private var places: [String: Int] = [:]
  private var pending: Int

  init(of message: String = "", _ headCount: Int = 0, to members: [Member]) {
    self.init(
      message, headCount, members.map { Recipient(member: $0.id.text, peer: $0.peer.text, name: $0.name) })
  }

  private init(_ message: String, _ headCount: Int, _ recipients: [Recipient]) {
    self.message = message
    self.headCount = headCount
    self.recipients = recipients
    pending = recipients.count { $0.state == .pending }
    for (place, recipient) in recipients.enumerated() { places[recipient.member] = place }
  }

  var isSettled: Bool { pending == 0 }

  func after(_ headCount: Int) -> Delivery {
    var delivery = self
    delivery.headCount = headCount
    return delivery
  }

  mutating func tell(_ fate: Fate, for members: [EndpointID]) {
    for member in members {
      guard let place = places[member.text] else { continue }
      if recipients[place].state == .pending { pending -= 1 }
      recipients[place].state = State(fate)
    }
  }

  var json: JSON {
    let counts = Dictionary(grouping: recipients, by: \.state).mapValues(\.count)
    var members = State.allCases.map { JSON.Member($0.rawValue, .number(counts[$0] ?? 0)) }
    if recipients.count <= Self.namedMax {
      members.append(.init("recipients", .list(recipients.map(\.json))))
    }
    return .object(members)
  }
}

// MARK: Kept

extension Delivery {
  /// All recipients, however many.
  var stored: [UInt8] { JSON.list(recipients.map(\.json)).bytes }

  init?(restoring message: StoredMessage) {
    guard let stored = message.recipients, let recipients = try? JSON(parsing: stored).list,
      case .object(let members)? = try? JSON(parsing: message.json)
    else { return nil }
    let head = JSON.object(members.filter { $0.name != "delivery" }).bytes
    self.init(
      "", head.count - 1,
      recipients.compactMap { json in
        guard let member = json["member"]?.text, let peer = json["peer"]?.text, let name = json["displayName"]?.text,
          let state = json["state"]?.text.flatMap(State.init(rawValue:))
        else { return nil }
        return Recipient(member: member, peer: peer, name: name, state: state)
      })
  }
}

extension Core {
  /// In which more of it may come, to be told at once.
  private static let deliveryDelay: Duration = .milliseconds(20)

  func told(_ fate: Fate, for members: [Member], of receipt: Receipt.ID, in model: SessionModel) {
    guard model.deliveries[receipt] != nil else { return }
    model.deliveries[receipt]?.tell(fate, for: members.map(\.id))
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
