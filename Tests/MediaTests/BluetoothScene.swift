import BluetoothProtocol
import Engine
import Glibc
import Reactor
import Testing
import Wire

@testable import Media

/// Two hosts within reach of each other, of which each has the medium with processes that the test plays, over pairs of sockets.
final class BluetoothScene {
  private static let laptopClass: UInt32 = 0x10_0104

  /// The processes of one host: each plays the same part, until it is killed.
  final class Processes {
    let reactor: Reactor
    var adapters: [BluetoothAddress]
    private(set) var count = 0
    private(set) var commands: [BluetoothCommand] = []
    var isMissing = false
    /// The answer to a command.
    var act: (Processes, BluetoothCommand) -> Void = { _, _ in }
    private var socket: Descriptor?
    private var registration: Registration?

    init(_ adapters: [BluetoothAddress], on reactor: Reactor) {
      self.adapters = adapters
      self.reactor = reactor
    }

    /// The adapters from which devices were searched, and hosts connected, in order.
    var searchers: [BluetoothAddress] {
      commands.compactMap { if case .search(_, let adapter) = $0 { adapter } else { nil } }
    }
    var connecters: [BluetoothAddress] {
      commands.compactMap { if case .connect(_, _, _, let adapter) = $0 { adapter } else { nil } }
    }

    func connect() throws(Trouble) -> Descriptor {
      if isMissing { throw Trouble(cause: "There is none.", cure: "Make one.") }
      kill()
      do {
        let pair = try Descriptor.packetPair()
        let theirs = try pair.theirs.duplicate()
        registration = try reactor.register(theirs, for: .readable) { [unowned self] _ in receive() }
        socket = consume theirs
        count += 1
        return try pair.ours.duplicate()
      } catch {
        Issue.record(error)
        throw Trouble(cause: "\(error)", cure: "")
      }
    }

    func kill() {
      if let registration { reactor.deregister(registration) }
      registration = nil
      socket = nil
    }

    func send(_ report: BluetoothReport, passing descriptor: CInt? = nil) { send(report.bytes, passing: descriptor) }

    func send(_ bytes: [UInt8], passing descriptor: CInt? = nil) { try? socket?.sendPacket(bytes, passing: descriptor) }

    private func receive() {
      while let packet = try? socket?.receivePacket(bytesMax: BluetoothCommand.bytesMax) {
        guard let command = BluetoothCommand(packet.bytes) else { return kill() }
        commands.append(command)
        if case .serve = command { send(.state(BluetoothState(addresses: adapters))) }
        act(self, command)
      }
    }
  }

  /// The host of a medium.
  final class Owner: MediumOwner {
    enum Event: Equatable {
      case seen(SeenID, HostID, [Address])
      case gone(SeenID)
      case trouble(Trouble?)
      case addresses
    }

    private(set) var events: [Event] = []
    var happened: () -> Void = {}
    let incoming = Recorder()

    static func isSeen(_ event: Event) -> Bool {
      if case .seen = event { true } else { false }
    }

    private func note(_ event: Event) {
      events.append(event)
      happened()
    }

    func seen(_ id: SeenID, _ announcement: Announcement, as type: ServiceType, at addresses: [Address], by: any Medium)
    {
      note(.seen(id, announcement.host, addresses))
    }
    func gone(_ id: SeenID, by medium: any Medium) { note(.gone(id)) }
    func answered(_ id: SeenID, by medium: any Medium) {}
    func suspectsTwin(at address: Address, by medium: any Medium) {}
    func linkOwner(over medium: any Medium) -> any SecureLinkOwner { incoming }
    func cut(over medium: any Medium) {}
    func addressesChanged(of medium: any Medium) { note(.addresses) }
    func outageChanged(to trouble: Trouble?, of medium: any Medium) { note(.trouble(trouble)) }
    func standingChanged(of type: ServiceType?) {}
  }

  let reactor: Reactor
  let keys = [SigningKey(), SigningKey()]
  let processes: [Processes]
  let owners = [Owner(), Owner()]
  var media: [BluetoothMedium] = []
  /// Whether the second host is near.
  var isNear = true
  /// Whether one adapter's inquiry finds the other, and whether it can connect with it.
  var sees: (BluetoothAddress, BluetoothAddress) -> Bool = { _, _ in true }
  var reaches: (BluetoothAddress, BluetoothAddress) -> Bool = { _, _ in true }

  /// The adapters of each.
  init(_ adapters: [UInt64] = [0xA], _ others: [UInt64] = [0xB]) throws {
    let reactor = try Reactor()
    self.reactor = reactor
    processes = [adapters, others].map { Processes($0.map { BluetoothAddress($0) }, on: reactor) }
    for place in 0..<2 {
      processes[place].act = { [unowned self] in act(place, $0, $1) }
    }
  }

  func host(_ place: Int) -> HostID { HostID(of: keys[place].publicKey) }

  /// Runs the body on the loop until it stops that.
  func run(_ body: @escaping () -> Void) {
    reactor.soon(body)
    reactor.schedule(after: .seconds(30)) { [unowned self] in
      Issue.record("the test hangs")
      stop()
    }
    reactor.run()
  }

  func stop() {
    for medium in media { medium.close() }
    media = []
    reactor.stop()
  }

  func make() {
    media = (0..<2).map { place in
      BluetoothMedium(
        nil, as: .first, host: host(place), LinkContext(key: keys[place]), on: reactor, owner: owners[place]
      ) { [unowned self] () throws(Trouble) in try processes[place].connect() }
    }
  }

  /// The part of an honest process.
  private func act(_ place: Int, _ process: Processes, _ command: BluetoothCommand) {
    let other = 1 - place
    switch command {
    case .serve, .cancel, .answerPairing: break
    case .inquire:
      for device in isNear ? processes[other].adapters : [] {
        let seeing = process.adapters.filter { sees($0, device) }
        if !seeing.isEmpty { process.send(.seen(device, deviceClass: Self.laptopClass, at: seeing)) }
      }
      process.send(.inquired(succeeded: true))
    case .search(let device, let adapter):
      process.send(.searched(device, from: adapter, isNear && reaches(adapter, device) ? [host(other)] : nil))
    case .connect(let ticket, let device, let host, let adapter):
      guard isNear, reaches(adapter, device), host == self.host(other), let pair = try? Descriptor.pair() else {
        return process.send(.failed(ticket: ticket, code: EHOSTDOWN))
      }
      processes[other].send(.accepted(adapter, at: device), passing: pair.theirs.number)
      process.send(.connected(ticket: ticket), passing: pair.ours.number)
    }
  }

  /// Calls `next` after an event of the first host that is this one.
  func await(_ event: @escaping (Owner.Event) -> Bool, _ next: @escaping () -> Void) {
    let owner = owners[0]
    owner.happened = { [unowned owner] in
      guard let last = owner.events.last, event(last) else { return }
      owner.happened = {}
      next()
    }
  }
}
