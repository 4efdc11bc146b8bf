internal import BluetoothProtocol
internal import DBus
internal import Reactor
internal import Wire

/// The host's agent at bluetoothd, which asks it whether devices may be paired.
///
/// Invariants:
/// - It is registered, and never requests to be the default agent: bluetoothd takes it where there is no other one, and else
///   asks the desktop's.
/// - Only bluetoothd may call it. Each question ends within `PairingQuestion.timeMax`, and no answer is a no.
/// - It lets nobody use a service but the host's.
final class PairingAgent: @unchecked Sendable {
  // `@unchecked`: it is touched on its reactor's thread alone, which is the main one.

  /// A search whether a device has hosts of its own, from an adapter by its name.
  typealias Search = (BluetoothAddress, _ adapter: String, _ done: @escaping (Bool) -> Void) -> HostSearch

  private static let service = "org.bluez"
  private static let object = "/vicinity/agent"
  /// A number is shown, and compared. Nobody here types one: `KeyboardDisplay` would ask for that.
  private static let capability = "DisplayYesNo"
  /// bluetoothd asks an agent one thing at a time.
  private static let openMax = 4
  /// The interval of tries where there is no bus.
  private static let pause: Duration = .seconds(30)

  private struct Question {
    let object: DeviceObject
    let path: String
    var number: UInt32?
    let call: BusInvocation
    let began = Reactor.now
    let limit: Timer
    var search: HostSearch?
    /// Whether the host knows of it.
    var isReported = false
  }

  private let reactor: Reactor
  private let busPath: String
  private let host: HostID
  private let search: Search
  private let report: (BluetoothReport) -> Void
  private var bus: BusConnection?
  private var open: [UInt32: Question] = [:]
  private var lastID: UInt32 = 0
  private var limits = PairingLimits()

  init(
    of host: HostID, overBusAt busPath: String, on reactor: Reactor, search: @escaping Search,
    report: @escaping (BluetoothReport) -> Void
  ) {
    self.reactor = reactor
    self.busPath = busPath
    self.host = host
    self.search = search
    self.report = report
    connect()
  }

  private func connect() {
    do throws(BusError) {
      let bus = try BusConnection(busPath, on: reactor)
      bus.onEnd = { [unowned self] _ in
        self.bus = nil
        endAll()
        connectLater()
      }
      bus.export(Self.object) { [unowned self] in handle($0) }
      bus.follow(Self.service) { [unowned self] event in
        switch event {
        case .started: register()
        case .stopped: endAll()
        case .signal, .failed: break
        }
      }
      self.bus = bus
    } catch {
      connectLater()
    }
  }

  private func connectLater() { reactor.schedule(after: Self.pause) { [unowned self] in connect() } }

  private func register() {
    // bluetoothd goes on as without an agent where it is refused.
    bus?.call(
      Self.service, "/org/bluez", "org.bluez.AgentManager1", "RegisterAgent",
      [.objectPath(Self.object), .string(Self.capability)]
    ) { _ in }
  }

  // MARK: Calls of bluetoothd

  private func handle(_ call: BusInvocation) {
    guard call.sender == bus?.owner(of: Self.service), call.interface == "org.bluez.Agent1" else {
      return call.reject("only bluetoothd may ask")
    }
    switch (call.member, call.arguments.first, call.arguments.dropFirst().first) {
    case ("RequestConfirmation", .objectPath(let path)?, .uint32(let number)?) where number <= PairingQuestion.numberMax:
      if let id = begin(call, path, number) { ask(id) }
    case ("RequestAuthorization", .objectPath(let path)?, nil):
      if let id = begin(call, path, nil) { authorize(id) }
    case ("AuthorizeService", .objectPath?, .string(let service)?) where isOwn(service):
      call.reply()
    case ("AuthorizeService", _, _): call.reject("this host lets devices use its own service only")
    case ("Cancel", _, _), ("Release", _, _):
      endAll()
      call.reply()
    // A number to type, or to type on the other device, as keyboards and devices before Bluetooth 2.1 have it.
    case ("RequestPinCode", _, _), ("RequestPasskey", _, _): call.reject("nobody can type a number here")
    default: call.reject("this host does not pair in this way")
    }
  }

  private func isOwn(_ service: String) -> Bool {
    [HostRecord.text(HostRecord.service), HostRecord.text(of: host)].contains(service.lowercased())
  }

  private func begin(_ call: BusInvocation, _ path: String, _ number: UInt32?) -> UInt32? {
    guard let object = DeviceObject(path), open.count < Self.openMax else {
      call.reject("too many devices want to be paired")
      return nil
    }
    lastID &+= 1
    let id = lastID
    let limit = reactor.schedule(after: PairingQuestion.timeMax) { [unowned self] in end(id, .timedOut) }
    open[id] = Question(object: object, path: path, number: number, call: call, limit: limit)
    return id
  }

  /// Nothing is to be compared. A device with a host is let in, as without an agent: its links prove who is there. People are
  /// asked about all others.
  private func authorize(_ id: UInt32) {
    guard let question = open[id] else { return }
    open[id]?.search = search(question.object.device, question.object.adapter) { [unowned self] hasHosts in
      if hasHosts { end(id, .accepted) } else { ask(id) }
    }
  }

  private func ask(_ id: UInt32) {
    guard let question = open[id] else { return }
    guard limits.takes(question.object.device, at: Reactor.now) else { return end(id, .declined) }
    bus?.call(
      Self.service, question.path, "org.freedesktop.DBus.Properties", "Get",
      [.string("org.bluez.Device1"), .string("Alias")]
    ) { [weak self] answer in self?.report(id, named: answer) }
  }

  private func report(_ id: UInt32, named answer: BusConnection.Answer) {
    guard let question = open[id] else { return }
    var name = ""
    if case .success(let values) = answer, case .variant(.string(let text))? = values.first { name = text }
    // bluetoothd makes one of the address for a device without a name.
    if name == question.object.device.description.replacing(":", with: "-") { name = "" }
    while name.utf8.count > PairingQuestion.nameBytesMax { name.removeLast() }
    open[id]?.isReported = true
    let timeLeft = PairingQuestion.timeMax - .nanoseconds(Reactor.now - question.began)
    report(
      .pairingAsked(
        PairingQuestion(
          id: id, device: question.object.device, name: name, number: question.number, timeLeft: timeLeft)))
  }

  // MARK: Answers

  func answer(_ id: UInt32, isAccepted: Bool) {
    // The host answers what it was asked.
    if open[id]?.isReported == true { end(id, isAccepted ? .accepted : .declined) }
  }

  private func endAll() { for id in open.keys.sorted() { end(id, .cancelled) } }

  private func end(_ id: UInt32, _ end: PairingQuestion.End) {
    guard let question = open.removeValue(forKey: id) else { return }
    reactor.cancel(question.limit)
    question.search?.cancel()
    switch end {
    case .accepted:
      limits.forget(question.object.device)
      question.call.reply()
    case .declined: question.call.reject("it was declined")
    case .timedOut: question.call.reject("nobody has answered")
    case .cancelled: question.call.reject("it was cancelled")
    }
    if question.isReported { report(.pairingEnded(id: id, end)) }
  }
}

extension BusInvocation {
  fileprivate func reject(_ reason: String) { refuse(BusError("org.bluez.Error.Rejected", reason)) }
}
