import Engine
import Wire

/// A message in truth: its sender, its recipients, and their outcomes.
final class SentMessage {
  let from: EndpointID
  let host: Int
  let run: Int
  let sending: Sending
  let to: [EndpointID]
  let bytes: Int
  let at: Int64
  var statuses: [DeliveryStatus?]
  /// The run of the sender's host that got the report.
  var statusRuns: [Int]
  /// The run of the recipient's host in which it arrived; 0: not yet.
  var receivedIn: [Int]
  var wasForgotten: [Bool]
  /// Its sender crashed before it had stored it.
  var isForgotten = false
  /// Recipients without an outcome yet, by host.
  var waiting: [(host: Int, count: Int)] = []

  init(from: EndpointID, host: Int, run: Int, sending: Sending, to: [EndpointID], bytes: Int, at: Int64) {
    self.from = from
    self.host = host
    self.run = run
    self.sending = sending
    self.to = to
    self.bytes = bytes
    self.at = at
    statuses = Array(repeating: nil, count: to.count)
    statusRuns = Array(repeating: 0, count: to.count)
    receivedIn = Array(repeating: 0, count: to.count)
    wasForgotten = Array(repeating: false, count: to.count)
  }
}

extension Model {
  // MARK: Payloads

  /// The next message's number, a checksum of it, and filling generated from the number.
  func payload(bytes: Int) -> [UInt8] { Self.payload(messages.count, bytes: bytes) }

  private static func payload(_ number: Int, bytes: Int) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(bytes + 8)
    var state = UInt64(number)
    append(UInt64(number), &payload)
    while payload.count < bytes { append(Random.splitmix(&state), &payload) }
    payload.removeLast(payload.count - bytes)
    return payload
  }

  /// Every second message has one, generated from its number.
  var contentType: ContentType? { Self.contentType(of: messages.count) }

  private static func contentType(of number: Int) -> ContentType? {
    number.isMultiple(of: 2) ? nil : try! ContentType("text/x-\(number)")  // of letters, digits and a hyphen
  }

  private static func append(_ word: UInt64, _ bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
  }

  static func number(of payload: [UInt8]) -> Int? {
    guard payload.count >= 16 else { return nil }
    let number = payload[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    var state = number
    let mark = Random.splitmix(&state)
    guard payload[8..<16].reduce(UInt64(0), { $0 << 8 | UInt64($1) }) == mark else { return nil }
    return Int(exactly: number)
  }

  // MARK: Sending

  func sends(_ id: MessageID, from: EndpointID, to: [EndpointID], _ sending: Sending, at host: SimHost) {
    guard let sender = endpoints[from] else { return }
    let watched = to.filter { endpoints[$0]?.isWatched ?? false }
    let message = SentMessage(
      from: from, host: host.index, run: host.run, sending: sending, to: watched, bytes: max(16, sending.bytes), at: now
    )
    if sending.mode == .reliable {
      for recipient in watched {
        guard let there = endpoints[recipient]?.ref.host else { continue }
        if let place = message.waiting.firstIndex(where: { $0.host == there }) {
          message.waiting[place].count += 1
        } else {
          message.waiting.append((there, 1))
          sender.underway[there, default: 0] += message.bytes
          let limit = host.plan.settings.backlogBytesMax + Limits.messagePayloadBytesMax
          check(.backlogIsBounded, sender.underway[there, default: 0] <= limit) {
            "\(sender.label) has \(sender.underway[there, default: 0]) bytes underway to h\(there)"
          }
        }
      }
    }
    sent[MessageKey(endpoint: from, id: id)] = messages.count
    awaitsStore(.send(message: messages.count), at: host.index)
    messages.append(message)
  }

  private func checkStatusIsKnown(_ message: SentMessage, _ place: Int) {
    guard let host = endpoints[message.to[place]]?.ref.host,
      let waiting = message.waiting.firstIndex(where: { $0.host == host }), message.waiting[waiting].count > 0
    else { return }
    message.waiting[waiting].count -= 1
    guard message.waiting[waiting].count == 0, let sender = endpoints[message.from] else { return }
    sender.underway[host, default: 0] -= message.bytes
    if sender.underway[host] == 0 { sender.caughtUpAt[host] = now }
  }

  // MARK: Receiving

  func received(
    _ payload: [UInt8], _ contentType: ContentType?, from: EndpointID, to: [EndpointID], _ mode: Mode,
    at host: SimHost
  ) {
    guard let sender = endpoints[from] else {
      check(.onlyTheReal, isMalicious.contains(true)) { "\(host.label) received a message of nobody" }
      return
    }
    guard let number = Self.number(of: payload), messages.indices.contains(number) else {
      return violate(.intact, "\(host.label) received what \(sender.label) never sent")
    }
    let message = messages[number]
    check(.intact, message.from == from && message.sending.mode == mode) {
      "\(host.label) received #\(number) as of \(sender.label), \(mode)"
    }
    check(.intact, payload.count == message.bytes && payload == Self.payload(number, bytes: message.bytes)) {
      "\(host.label) received #\(number) changed"
    }
    check(.intact, contentType == Self.contentType(of: number)) {
      "\(host.label) received #\(number) as \(contentType?.text ?? "nothing")"
    }
    checkOneEvent(message, number, to, host)
    for local in to {
      guard let here = endpoints[local], here.isWatched else { continue }
      guard let place = message.to.firstIndex(of: local) else {
        violate(.onlyTheAddressed, "\(here.label) received #\(number) of \(sender.label), which is not for it")
        continue
      }
      receive(message, number, place, here, sender, host)
    }
  }

  /// A host tells a message once, to all of its endpoints that it is for, unless some of them have not met yet.
  private func checkOneEvent(_ message: SentMessage, _ number: Int, _ to: [EndpointID], _ host: SimHost) {
    for (place, told) in message.to.enumerated() where message.receivedIn[place] == host.run {
      guard message.sending.mode == .reliable, let earlier = endpoints[told], earlier.ref.host == host.index else {
        continue
      }
      check(.oneMessageOneEvent, !to.contains { earlier.pairs[$0]?.state == .connected }) {
        "\(host.label) tells #\(number) of \(label(message.from)) to \(to.map(label)) after \(earlier.label)"
      }
    }
  }

  private func receive(
    _ message: SentMessage, _ number: Int, _ place: Int, _ here: EndpointRecord, _ sender: EndpointRecord,
    _ host: SimHost
  ) {
    let pair = here.pair(sender.id)
    check(.connectedBeforeMessages, pair.state == .connected) {
      "\(here.label) received #\(number) of \(sender.label), which is \(pair.state)"
    }
    checkDelay(message, number, here)
    checkHandover(message, number, here)
    guard message.sending.mode == .reliable else {
      message.receivedIn[place] = host.run
      return
    }
    // A durable host that forgot unstored messages may, and must, get them again.
    check(.exactlyOnce, message.receivedIn[place] == 0 || isVoid(message, at: host.index)) {
      "\(here.label) received #\(number) of \(sender.label) again"
    }
    check(.inOrder, number > pair.messageLast) {
      "\(here.label) received #\(number) of \(sender.label) after #\(pair.messageLast)"
    }
    check(.deliveryStatusesAreTrue, message.statuses[place] != .undelivered || isVoid(message, at: message.host)) {
      "\(here.label) received #\(number) of \(sender.label), which was told undelivered"
    }
    pair.messageLast = number
    if message.receivedIn[place] == 0, message.statuses[place] == nil { checkStatusIsKnown(message, place) }
    message.receivedIn[place] = host.run
    awaitsStore(.receipt(message: number, place), at: host.index)
  }

  // MARK: Delivery statuses

  func deliveryStatus(
    _ id: MessageID, _ from: EndpointID, _ to: [EndpointID], _ status: DeliveryStatus, at host: SimHost
  ) {
    guard let number = sent[MessageKey(endpoint: from, id: id)] else {
      return violate(
        .deliveryStatusesAreTrue, "\(host.label) reports the delivery status of a message that nobody sent")
    }
    let message = messages[number]
    // An old backup may contain messages that are long over.
    if isVoid(message, at: message.host) { return }
    for recipient in to {
      guard endpoints[recipient]?.isWatched ?? false else { continue }
      guard let place = message.to.firstIndex(of: recipient) else {
        violate(
          .deliveryStatusesAreTrue, "\(label(from)) is told of #\(number) for \(label(recipient)), for which it was not"
        )
        continue
      }
      let sayings = "\(label(from)) is told that #\(number) for \(label(recipient)) is \(status)"
      // A durable host that crashed may have forgotten its report.
      check(.deliveryStatusesAreTrue, message.statuses[place] == nil || message.statusRuns[place] != host.run) {
        sayings + ", after \(message.statuses[place].map { "\($0)" } ?? "")"
      }
      switch status {
      case .undelivered:
        check(.deliveryStatusesAreTrue, message.receivedIn[place] == 0 || isVoid(message, at: message.host)) {
          sayings + ", and it was received"
        }
      case .delivered:
        check(.deliveryStatusesAreTrue, message.sending.receipt) { sayings + ", and no receipt was asked for" }
        let isPromised = message.receivedIn[place] != 0 || plan.hosts[endpoints[recipient]?.ref.host ?? 0].isDurable
        check(.deliveryStatusesAreTrue, isPromised) { sayings + ", and it was not received" }
      case .unknown: break
      }
      if message.statuses[place] == nil, message.receivedIn[place] == 0 { checkStatusIsKnown(message, place) }
      message.statuses[place] = status
      message.statusRuns[place] = host.run
      awaitsStore(.deliveryStatus(message: number, place), at: host.index)
    }
  }
}
