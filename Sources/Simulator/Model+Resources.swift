import Engine
import Wire

/// A resource in truth: its file, its reports, and its end on each side.
final class ResourceRecord {
  let number: Int
  let plan: Offering
  let content: Content
  let at: Int64
  var sender: FlowSide
  var receiver: FlowSide
  /// When its receiver's program was asked, and answered.
  var shownAt: Instant?
  var isAnswered = false
  /// The length of the receiver's file, whatever its engine remembers of it.
  var file: UInt64 = 0
  /// The offset that the program reported as stored, and the part that the engine cannot have forgotten.
  var said: UInt64 = 0
  var kept: UInt64 = 0
  var next: UInt64 = 0
  /// Whether the receiver's program gave it its place.
  var hasItsPlace = false
  var damages = 0
  /// The byte of the receiver's file that the disk has changed, until that part is received again.
  var spoiltAt: UInt64?
  /// The reasons with which the programs ended it.
  var causes: [Reason] = []
  /// Its sender crashed before it had stored the offer.
  var isForgotten = false
  var acceptedAt: Int64?
  /// The last progress on each side.
  var progress: [(bytes: UInt64, at: Int64)?] = [nil, nil]
  var milestones: [UInt64] = [0, 0]

  init(_ number: Int, plan: Offering, at: Int64, sender: FlowSide, receiver: FlowSide) {
    self.number = number
    self.plan = plan
    content = Content(number, of: 2)
    self.at = at
    self.sender = sender
    self.receiver = receiver
  }

  var size: UInt64 { UInt64(plan.bytes) }

  /// Its sender came up from an old backup and offers a resource that had ended for its receiver, or the receiver has
  /// forgotten the member: to that it is a new one.
  func beginAnew() {
    receiver.ended = nil
    receiver.run = 0
    shownAt = nil
    isAnswered = false
    (file, said, kept, next) = (0, 0, 0, 0)
    hasItsPlace = false
    damages = 0
    spoiltAt = nil
    progress[1] = nil
    milestones[1] = 0
  }
}

/// The side and the resource of an engine's number.
struct ResourcePlace {
  var number: Int
  var isSender: Bool
}

extension Model {
  static func name(ofResource number: Int) -> String { "file \(number)" }
  static func number(ofResource name: String) -> Int? { name.hasPrefix("file ") ? Int(name.dropFirst(5)) : nil }

  func place(of id: ResourceID, at host: SimHost) -> ResourcePlace? {
    resourcePlaces[OfHost(host: host.index, run: host.run, id: id)]
  }

  // MARK: Programs

  func offers(_ id: ResourceID, _ plan: Offering, from: EndpointID, to: EndpointID, at host: SimHost) {
    var sender = FlowSide(endpoint: from, host: host.index)
    sender.run = host.run
    sender.connection = connections(of: from, with: to)
    let receiver = FlowSide(endpoint: to, host: endpoints[to]?.ref.host ?? -1)
    let here = OfHost(host: host.index, run: host.run, id: id)
    check(.resourcesEndOnce, resourcePlaces[here] == nil) { "\(host.label) numbers two resources alike" }
    resourcePlaces[here] = ResourcePlace(number: resources.count, isSender: true)
    openResources.append(resources.count)
    awaitsStore(.offer(resource: resources.count), at: host.index)
    resources.append(ResourceRecord(resources.count, plan: plan, at: now, sender: sender, receiver: receiver))
  }

  func answers(_ number: Int, _ accepts: Bool) {
    let resource = resources[number]
    resource.isAnswered = true
    if accepts { resource.acceptedAt = now } else { resource.causes.append(.declined) }
  }

  func ends(_ number: Int, with cause: Reason) { resources[number].causes.append(cause) }

  /// The engine accepts a lower offset where it had begun again on a new link before the report came.
  func says(stored offset: UInt64, of number: Int, taken: UInt64, at host: SimHost) {
    let resource = resources[number]
    resource.file = max(resource.file, offset)
    resource.said = max(resource.said, min(offset, taken))
    awaitsStore(.stored(resource: number, through: resource.said), at: host.index)
  }

  func keeps(_ id: ResourceID, at host: SimHost) {
    if let place = place(of: id, at: host) { resources[place.number].hasItsPlace = true }
  }

  func spoils(_ number: Int, at place: UInt64) {
    let resource = resources[number]
    resource.spoiltAt = min(place, resource.spoiltAt ?? .max)
    resource.kept = 0
  }

  func damages(_ number: Int) { resources[number].damages += 1 }

  // MARK: Engine outputs

  func shown(_ id: ResourceID, _ view: ResourceView, at host: SimHost) {
    guard endpoints[view.isIncoming ? view.from : view.to] != nil else {
      return check(.onlyTheReal, isMalicious.contains(true)) { "\(host.label) is offered a resource of nobody" }
    }
    guard let number = Self.number(ofResource: view.info.name), resources.indices.contains(number) else {
      return violate(.onlyTheReal, "\(host.label) is offered what nobody offers: \(view.info.name)")
    }
    let resource = resources[number]
    let words = words(resource)
    check(.onlyTheReal, resource.sender.endpoint == view.from && resource.receiver.endpoint == view.to) {
      "\(words) is shown as from \(label(view.from)) to \(label(view.to))"
    }
    check(.onlyTheReal, view.info.size == nil || view.info.size == resource.size) {
      "\(words) is shown with \(view.info.size ?? 0) bytes"
    }
    let forgetsSoon = (endpoints[view.to]?.settings.rejoinMax ?? .zero) < .seconds(300)
    if view.isIncoming, resource.receiver.ended != nil, forgetsSoon || isUnsettled[resource.sender.host] {
      resource.beginAnew()
    }
    let side = view.isIncoming ? resource.receiver : resource.sender
    check(.resourcesEndOnce, side.ended == nil || isUnsettled[host.index]) {
      "\(words) is shown after its end (\(side.ended ?? .none))"
    }
    check(.resourcesEndOnce, side.run != host.run) { "\(words) is shown twice" }
    resourcePlaces[OfHost(host: host.index, run: host.run, id: id)] = ResourcePlace(
      number: number, isSender: !view.isIncoming)
    if view.isIncoming {
      shownToReceiver(resource, view, host)
    } else {
      resource.sender.run = host.run
      if isUnsettled[host.index] { resource.sender.ended = nil }
    }
    if isUnsettled[host.index] { resource.said = view.isIncoming ? view.bytes : resource.said }
  }

  private func shownToReceiver(_ resource: ResourceRecord, _ view: ResourceView, _ host: SimHost) {
    let isNew = resource.receiver.run == 0
    let rules = endpoints[view.to]?.settings.resources ?? ResourceRules()
    if isNew {
      awaitsStore(.shown(resource: resource.number), at: host.index)
      resource.receiver.connection = connections(of: view.to, with: view.from)
      check(.onlyTheReal, connectedNow(view.to, view.from)) {
        "\(words(resource)) is offered by one who is not connected"
      }
    }
    resource.receiver.run = host.run
    if isUnsettled[host.index] { resource.receiver.ended = nil }
    check(.resourcesEndOnce, !view.isAccepted || resource.isAnswered || rules.acceptsUnasked || isUnsettled[host.index])
    {
      "\(words(resource)) is accepted, and nobody said so"
    }
    if !view.isAccepted { resource.isAnswered = false }
    if !view.isAccepted { resource.shownAt = host.local(now) }
    check(
      .resumesAtOffset, isNew || view.bytes >= resource.kept && view.bytes <= resource.file || isUnsettled[host.index]
    ) {
      "\(words(resource)) comes back with \(view.bytes) bytes, where \(resource.kept) were kept of \(resource.file)"
    }
    resource.said = view.bytes
    resource.next = view.bytes
    if let place = resource.spoiltAt, place >= view.bytes { resource.spoiltAt = nil }
  }

  private func connectedNow(_ here: EndpointID, _ there: EndpointID) -> Bool {
    guard let record = endpoints[here], record.isWatched else { return true }
    return record.pair(there).state == .connected
  }

  func read(_ id: ResourceID, from offset: UInt64, bytes: Int, at host: SimHost) {
    guard let place = place(of: id, at: host), place.isSender else {
      return violate(.chunksInOrder, "\(host.label) reads a resource that it does not send")
    }
    let resource = resources[place.number]
    let end = offset + UInt64(max(bytes, 0))
    check(.chunksInOrder, resource.sender.ended == nil && bytes > 0) { "\(words(resource)) is read after its end" }
    check(.chunksInOrder, !resource.plan.knowsSize || end <= resource.size) {
      "\(words(resource)) is read to \(end), and has \(resource.size) bytes"
    }
    guard resource.receiver.host >= 0 else { return }
    let most = resource.file + UInt64(host.plan.settings.resourceWindowBytes)
    check(.windowsHold, end <= most) { "\(words(resource)) is read to \(end), and its receiver has \(resource.file)" }
  }

  func store(_ id: ResourceID, at offset: UInt64, _ payload: Payload, at host: SimHost) {
    guard let place = place(of: id, at: host) else {
      return check(.chunksInOrder, isMalicious.contains(true)) {
        "\(host.label) stores a resource that was not offered"
      }
    }
    let resource = resources[place.number]
    let what = "\(words(resource)): \(payload.count) bytes come for \(offset)"
    if let place = resource.spoiltAt, offset < resource.said {
      // The damaged part comes again, with all that follows.
      check(.resumesAtOffset, offset <= place) { what + ", and the damage is at \(place)" }
      (resource.said, resource.next, resource.spoiltAt) = (offset, offset, nil)
    }
    check(.chunksInOrder, !place.isSender && resource.receiver.ended == nil) { what + " after its end" }
    check(
      .chunksInOrder,
      resource.isAnswered || endpoints[resource.receiver.endpoint]?.settings.resources.acceptsUnasked ?? false
    ) {
      what + ", and nobody accepted it"
    }
    check(.chunksInOrder, connectedNow(resource.receiver.endpoint, resource.sender.endpoint)) {
      what + " of one who is not connected"
    }
    check(.resumesAtOffset, offset >= resource.said) { what + ", where \(resource.said) are stored" }
    check(
      .chunksInOrder, offset == resource.next || offset < resource.next && offset <= max(resource.said, resource.kept)
    ) {
      what + " where \(resource.next) come next"
    }
    let end = offset + UInt64(payload.count)
    let isWholeChunk = offset % UInt64(Limits.chunkBytes) == 0 && payload.count == Limits.chunkBytes
    check(.chunksInOrder, isWholeChunk || end == resource.size) { what + ", which is no chunk" }
    check(.wholeMeansWhole, payload.withBytes { resource.content.matches($0, at: offset) }) {
      what + " which are not what its source has there"
    }
    resource.next = end
    check(.windowsHold, end <= resource.said + UInt64(host.plan.settings.resourceWindowBytes)) {
      what + ", and only \(resource.said) are said to be stored"
    }
  }

  func progresses(_ id: ResourceID, _ told: ResourceProgress, at host: SimHost) {
    guard let place = place(of: id, at: host) else { return }
    let resource = resources[place.number]
    guard resource.receiver.host >= 0, !isUnsettled[host.index] else { return }
    let what = "\(words(resource)): \(place.isSender ? "its sender" : "its receiver") is told \(told.bytes) bytes"
    check(.progressIsTrue, told.bytes <= resource.file) { what + " where \(resource.file) are stored" }
    check(.progressIsTrue, told.size == resource.size || told.size == nil && !resource.plan.knowsSize) {
      what + " of \(told.size.map(String.init) ?? "an unknown number"), and it has \(resource.size)"
    }
    let side = place.isSender ? 0 : 1
    if let last = resource.progress[side], last.at >= cameUpAt[host.index] {
      check(.progressIsTrue, told.bytes >= last.bytes) { what + " after \(last.bytes)" }
      let interval = host.plan.settings.progressInterval.components.attoseconds / 1_000_000_000
      check(.progressIsTrue, now - last.at >= interval - 1_000_000) {
        what + " \((now - last.at) / 1_000_000) ms after the last time"
      }
    }
    resource.progress[side] = (told.bytes, now)
  }

  /// Returns whether another eighth has arrived since the last call, or one of the part so far where the size is unknown.
  func takeMilestone(of id: ResourceID, at host: SimHost) -> Bool {
    guard let place = place(of: id, at: host) else { return false }
    let resource = resources[place.number]
    let side = place.isSender ? 0 : 1
    let eighth = (resource.progress[side]?.bytes ?? 0) * 8 / max(1, resource.size)
    defer { resource.milestones[side] = eighth }
    return eighth > resource.milestones[side]
  }

  func resourceEnded(_ id: ResourceID, _ reason: Reason, at host: SimHost) {
    guard let place = place(of: id, at: host) else {
      return check(.resourcesEndOnce, isMalicious.contains(true) || isUnsettled[host.index]) {
        "\(host.label) ends a resource that nobody knows"
      }
    }
    let resource = resources[place.number]
    let (here, there) =
      place.isSender ? (resource.sender, resource.receiver) : (resource.receiver, resource.sender)
    let end = "\(words(resource)) ends at its \(place.isSender ? "sender" : "receiver") (\(reason))"
    check(.resourcesEndOnce, here.ended == nil || isUnsettled[host.index]) {
      end + " after it had (\(here.ended ?? .none))"
    }
    if there.host >= 0, !isUnsettled[host.index] { justify(reason, of: resource, end, here, there) }
    if place.isSender { resource.sender.ended = reason } else { resource.receiver.ended = reason }
    awaitsStore(.end(resource: place.number, isSenders: place.isSender), at: host.index)
    if reason == .none, !place.isSender { sharesAreFair(after: place.number) }
  }

  /// An end lies in what the programs did, or in the world.
  private func justify(
    _ reason: Reason, of resource: ResourceRecord, _ end: String, _ here: FlowSide, _ there: FlowSide
  ) {
    let rules = endpoints[resource.receiver.endpoint]?.settings.resources ?? ResourceRules()
    switch reason {
    case .none:
      check(.wholeMeansWhole, resource.file == resource.size && resource.next == resource.size) {
        end + " with \(resource.file) of \(resource.size) bytes stored"
      }
      check(.wholeMeansWhole, resource.spoiltAt == nil) { end + ", and byte \(resource.spoiltAt ?? 0) was changed" }
      check(.wholeMeansWhole, resource.hasItsPlace) { end + " before its receiver kept it" }
      check(.wholeMeansWhole, resource.plan.root != .wrong) { end + ", and its source is not what was offered" }
    case .mismatch:
      check(.resourcesEndOnce, resource.plan.root == .wrong || resource.damages > 3) { end + ", and nothing was wrong" }
    case .tooLarge: check(.resourcesEndOnce, resource.size > rules.bytesMax) { end + ", and it is not" }
    case .timedOut:
      let isHasty = [here, there].contains { plan.hosts[$0.host].settings.resourcePatience < .seconds(300) }
      let wasLate = !resource.isAnswered || isHasty || wereDisturbed(here.host, there.host, within: 90_000)
      check(.resourcesEndOnce, wasLate) { end + ", and nobody was late" }
    case .full, .busy:
      let offers = openResources.count { number in
        let other = resources[number]
        return other.sender.endpoint == resource.sender.endpoint
          && other.receiver.endpoint == resource.receiver.endpoint
      }
      check(.resourcesEndOnce, offers > Int(rules.offersMax)) { end + " with \(offers) offers" }
    case .lost, .unreachable, .slow:
      // It outlives its pair, and a durable host.
      let isForgotten = [here, there].contains { side in
        isUnsettled[side.host] || emptyAt[side.host] > resource.at || !(endpoints[side.endpoint]?.isKept ?? false)
          || (endpoints[side.endpoint]?.leaves ?? 0) > 0
          || (endpoints[side.endpoint]?.settings.rejoinMax ?? .zero) < .seconds(300)
      }
      check(.resourcesEndOnce, isForgotten || there.run == 0 || resource.isForgotten) {
        end + ", where it could have waited"
      }
    default:
      if resource.causes.contains(reason) { return }
      unexplained.append(Unexplained(flow: end, since: resource.at, here: here, there: there, reason: reason, at: now))
    }
  }

  // MARK: From time to time, and at the end

  func checkResources(_ world: World) {
    openResources.removeAll { number in
      let resource = resources[number]
      checkDecision(resource, world)
      return resource.sender.ended != nil && (resource.receiver.ended != nil || resource.receiver.run == 0)
    }
  }

  private func checkDecision(_ resource: ResourceRecord, _ world: World) {
    guard let shown = resource.shownAt, !resource.isAnswered, resource.receiver.ended == nil,
      isRunning(resource.receiver), let rules = endpoints[resource.receiver.endpoint]?.settings.resources
    else { return }
    let host = world.hosts[resource.receiver.host]
    check(.offersEndInTime, host.local(now) < shown + rules.decisionMax + .seconds(3)) {
      "\(words(resource)) has waited for an answer since \(shown.nanoseconds / 1_000_000) ms"
    }
  }

  /// In the healed world a transfer between two that are connected ends on both sides.
  func finishResources() {
    for resource in resources where !resource.isForgotten && resource.receiver.host >= 0 {
      let (sender, receiver) = (resource.sender, resource.receiver)
      guard !isUnsettled[sender.host], !isUnsettled[receiver.host] else { continue }
      guard let from = endpoints[sender.endpoint], let to = endpoints[receiver.endpoint] else { continue }
      guard from.isKept, to.isKept, isHostUp[sender.host], isHostUp[receiver.host] else { continue }
      guard from.pair(to.id).state == .connected, to.pair(from.id).state == .connected else { continue }
      let isWaiting = receiver.run > 0 && !resource.isAnswered && resource.plan.answer == .never
      guard !isWaiting || sender.ended != nil || receiver.ended != nil else { continue }
      let state = "\(resource.file) of \(resource.size) bytes are stored"
      check(.transfersFinish, sender.ended != nil) { "\(words(resource)) has not ended at its sender: \(state)" }
      check(.transfersFinish, receiver.ended != nil || receiver.run == 0 || isWaiting) {
        "\(words(resource)) has not ended at its receiver: \(state)"
      }
      if sender.ended == Reason.none {
        check(.wholeMeansWhole, receiver.ended == Reason.none) {
          "\(words(resource)) was told whole to its sender, and (\(receiver.ended ?? .none)) to its receiver"
        }
      }
    }
  }

  func words(_ resource: ResourceRecord) -> String {
    "file \(resource.number) of \(label(resource.sender.endpoint)) to \(label(resource.receiver.endpoint))"
  }
}
