internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// The delivery status of a reliable message that was sent from here, for each of its recipients.
struct Delivery {
  /// The limit on recipients that are shown by name; for more, only counts are shown.
  static let namedMax = 64

  enum State: String {
    case pending, delivered, undelivered, unknown

    static let all = [State.pending, .delivered, .undelivered, .unknown]

    fileprivate var place: Int {
      switch self {
      case .pending: 0
      case .delivered: 1
      case .undelivered: 2
      case .unknown: 3
      }
    }

    init(_ status: DeliveryStatus) {
      self =
        switch status {
        case .delivered: .delivered
        case .undelivered: .undelivered
        case .unknown: .unknown
        }
    }
  }

  private struct Recipient {
    let id: EndpointID
    let peer: PeerID
    let name: String
    /// The unchanging part of its JSON, once that was needed.
    private var head: [UInt8] = []
    var state = State.pending

    init(_ id: EndpointID, peer: PeerID, name: String, _ state: State = .pending) {
      (self.id, self.peer, self.name, self.state) = (id, peer, name, state)
    }

    mutating func write(to json: inout [UInt8]) {
      if head.isEmpty { head = Delivery.head(id, peer, name) }
      Delivery.write(head, state, to: &json)
    }
  }

  /// The unchanging part of a recipient's JSON.
  static func head(_ id: EndpointID, _ peer: PeerID, _ name: String) -> [UInt8] {
    var head = Array("{\"member\":\"".utf8)
    head += id.text.utf8
    head += "\",\"peer\":\"".utf8
    head += peer.text.utf8
    head += "\",\"displayName\":".utf8
    JSON.write(name, to: &head)
    head += ",\"state\":\"".utf8
    return head
  }

  private static func write(_ head: [UInt8], _ state: State, to json: inout [UInt8]) {
    json += head
    json += state.rawValue.utf8
    json += "\"}".utf8
  }

  /// The message's ID, where it is not known otherwise.
  let message: String
  /// The number of bytes of the message's JSON before this.
  private(set) var headCount: Int
  private var recipients: [Recipient]
  /// The index of each recipient, if there are more than a few.
  private var places: [EndpointID: Int] = [:]
  /// How many recipients are in each state.
  private var counts = SIMD4<Int>()
  private let isNamed: Bool
  /// All of its recipients, where all have it.
  private let delivered: [MemberModel]

  init(of message: String = "", _ headCount: Int = 0, to members: [Member]) {
    self.init(message, headCount, members.map { Recipient($0.id, peer: $0.peer, name: $0.name) })
  }

  private init(_ message: String, _ headCount: Int, _ recipients: [Recipient]) {
    self.message = message
    self.headCount = headCount
    (self.recipients, delivered) = (recipients, [])
    isNamed = recipients.count <= Self.namedMax
    for recipient in recipients { counts[recipient.state.place] += 1 }
    guard recipients.count > Self.linearSearchMax else { return }
    for (place, recipient) in recipients.enumerated() { places[recipient.id] = place }
  }

  /// A message that all of its recipients have; they are shown by name where it is known who they are.
  init(deliveredTo count: Int, _ members: [MemberModel]?) {
    (message, headCount, recipients) = ("", 0, [])
    (delivered, isNamed) = (members ?? [], members != nil)
    counts[State.delivered.place] = count
  }

  /// Up to so many, a linear search is as fast as a lookup.
  private static let linearSearchMax = 8

  private func place(of member: EndpointID) -> Int? {
    recipients.count > Self.linearSearchMax ? places[member] : recipients.firstIndex { $0.id == member }
  }

  var isSettled: Bool { counts[State.pending.place] == 0 }

  func after(_ headCount: Int) -> Delivery {
    var delivery = self
    delivery.headCount = headCount
    return delivery
  }

  mutating func set(_ status: DeliveryStatus, for members: [EndpointID]) {
    for member in members {
      guard let place = place(of: member) else { continue }
      counts[recipients[place].state.place] -= 1
      recipients[place].state = State(status)
      counts[recipients[place].state.place] += 1
    }
  }

  private mutating func write(to json: inout [UInt8]) {
    for state in State.all {
      json += (state == .pending ? "{\"" : ",\"").utf8
      json += state.rawValue.utf8
      json += "\":".utf8
      JSON.write(counts[state.place], to: &json)
    }
    if isNamed {
      json += ",\"recipients\":".utf8
      writeRecipients(to: &json)
    }
    json.append(UInt8(ascii: "}"))
  }

  private mutating func writeRecipients(to json: inout [UInt8]) {
    json.append(UInt8(ascii: "["))
    for place in recipients.indices {
      if place > 0 { json.append(UInt8(ascii: ",")) }
      recipients[place].write(to: &json)
    }
    for (place, member) in delivered.enumerated() {
      if place > 0 { json.append(UInt8(ascii: ",")) }
      Self.write(member.recipientHead, .delivered, to: &json)
    }
    json.append(UInt8(ascii: "]"))
  }
}

// MARK: Stored form

extension Delivery {
  /// All recipients, however many.
  mutating func stored() -> [UInt8] {
    var json: [UInt8] = []
    writeRecipients(to: &json)
    return json
  }

  init?(restoring json: [UInt8], to stored: [UInt8]?) {
    guard let stored, let recipients = try? JSON(parsing: stored).list,
      case .object(let members)? = try? JSON(parsing: json)
    else { return nil }
    let head = JSON.object(members.filter { $0.name != "delivery" }).bytes
    self.init(
      "", head.count - 1,
      recipients.compactMap { json in
        guard let member = json["member"]?.text.flatMap({ try? EndpointID(text: $0) }),
          let peer = json["peer"]?.text.flatMap({ try? PeerID(text: $0) }), let name = json["displayName"]?.text,
          let state = json["state"]?.text.flatMap(State.init(rawValue:))
        else { return nil }
        return Recipient(member, peer: peer, name: name, state)
      })
  }
}

extension Core {
  /// Changes within this time are published together.
  private static let deliveryDelay: Duration = .milliseconds(20)

  /// The delivery status of the message with this number of the engine; before it is recorded, the status waits.
  func settle(_ message: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus, in session: EndpointID) {
    guard let model = sessions[session], model.deliveries[message] != nil else {
      earlyStatuses?.append((message, recipients, status))
      return
    }
    model.deliveries[message]?.set(status, for: recipients)
    if model.changedDeliveries.isEmpty {
      let id = model.id
      reactor.schedule(after: Self.deliveryDelay) { [weak self] in
        if let self, let model = sessions[id] { publishDeliveries(of: model) }
      }
    }
    model.changedDeliveries.insert(message)
  }

  private func publishDeliveries(of model: SessionModel) {
    // In the order of sending.
    for number in model.changedDeliveries.sorted() {
      guard var delivery = model.deliveries[number] else { continue }
      // The message may be too old to be kept.
      if let item = model.messages[delivery.message] {
        model.messages.put(item, written: delivery.written(after: item.bytes.prefix(delivery.headCount)))
      }
      model.deliveries[number] = delivery.isSettled ? nil : delivery
    }
    model.changedDeliveries = []
  }
}

extension Delivery {
  /// The size of all counts, and of a recipient with a short name.
  private static let frameBytes = 128
  private static let recipientBytes = 192

  /// The whole message, whose last member this is.
  mutating func written(after head: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    let named = isNamed ? recipients.count + delivered.count : 0
    bytes.reserveCapacity(head.count + Self.frameBytes + named * Self.recipientBytes)
    bytes += head
    bytes += ",\"delivery\":".utf8
    write(to: &bytes)
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }
}
