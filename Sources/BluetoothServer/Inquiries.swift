internal import BluetoothProtocol
internal import Reactor

/// A device that an inquiry has found, and the adapters that have.
struct SeenDevice: Hashable {
  let address: BluetoothAddress
  let deviceClass: UInt32
  var adapters: [BluetoothAddress]
}

/// Inquiries by several adapters, in turn, so that others find this host by the rest of them meanwhile.
///
/// Each adapter has a limit of time: by its source, the kernel never ends the inquiry of one that is unplugged or turned off under
/// it. The inquiry is stopped then, the round goes on without it, and later rounds pass over an adapter for as long as its inquiry
/// has not ended all the same.
final class Inquiries: @unchecked Sendable {
  // `@unchecked`: its state is touched on its reactor's thread alone. `BluetoothService`, its only owner, calls it there, timers run
  // there, and the system reports there (`BluetoothSystem`).

  /// So many inquire within `roundTimeMax`.
  static let adaptersMax = 4
  /// A host waits for 25 seconds.
  private static let roundTimeMax: Duration = .seconds(24)
  private static let unit: Duration = .milliseconds(1_280)

  private struct Round {
    let units: UInt8
    let limit: UInt64
    let done: ([SeenDevice]?) -> Void
    var waiting: ArraySlice<Adapter>
    var found: [(adapter: BluetoothAddress, devices: [InquiredDevice])] = []
  }

  private let reactor: Reactor
  private let system: any BluetoothSystem
  private let patience: Duration
  private var round: Round?
  /// The number of the inquiry for which the round waits: the result of an earlier one comes too late.
  private var number: UInt64 = 0
  private var deadline: Timer?
  /// Adapters whose inquiry has not ended, by their numbers, which the kernel gives to no other adapter as long.
  private var busy: Set<CInt> = []

  /// An adapter is given up after the time of its inquiry and this.
  init(by system: any BluetoothSystem, on reactor: Reactor, patience: Duration = .seconds(3)) {
    self.system = system
    self.reactor = reactor
    self.patience = patience
  }

  /// Calls `done` once: with each device once, or nil where no adapter could inquire.
  func begin(on adapters: [Adapter], units: UInt8, done: @escaping ([SeenDevice]?) -> Void) {
    guard round == nil else { return done(nil) }
    for adapter in busy { system.stopInquiry(on: adapter) }
    let able = adapters.filter { !busy.contains($0.number) }.prefix(Self.adaptersMax)
    let limit = Reactor.now + UInt64(Self.roundTimeMax / .nanoseconds(1))
    round = Round(units: units, limit: limit, done: done, waiting: able[...])
    proceed()
  }

  private func proceed() {
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
    number += 1
    guard let (units, limit) = round.map({ ($0.units, $0.limit) }) else { return }
    let end = Reactor.now + UInt64(Self.unit * Int(units) / .nanoseconds(1))
    guard let adapter = round?.waiting.popFirst(), end < limit else { return finish() }
    busy.insert(adapter.number)
    deadline = reactor.schedule(at: min(end + UInt64(patience / .nanoseconds(1)), limit)) { [unowned self] in
      deadline = nil
      // The result comes too late, whatever it is.
      self.number += 1
      system.stopInquiry(on: adapter.number)
      proceed()
    }
    system.inquire(on: adapter.number, units: units) { [weak self, number] devices in
      guard let self else { return }
      busy.remove(adapter.number)
      guard number == self.number else { return }
      if let devices { round?.found.append((adapter.address, devices)) }
      proceed()
    }
  }

  private func finish() {
    guard let round = round.take() else { return }
    round.done(round.found.isEmpty ? nil : Self.merge(round.found))
  }

  /// In turns of the adapters, so that a crowd near one of them leaves room for the others' devices.
  private static func merge(_ found: [(adapter: BluetoothAddress, devices: [InquiredDevice])]) -> [SeenDevice] {
    var places: [BluetoothAddress: Int] = [:]
    var seen: [SeenDevice] = []
    for turn in 0..<(found.map(\.devices.count).max() ?? 0) {
      for (adapter, devices) in found where turn < devices.count {
        let device = devices[turn]
        guard let place = places[device.address] else {
          places[device.address] = seen.count
          seen.append(SeenDevice(address: device.address, deviceClass: device.deviceClass, adapters: [adapter]))
          continue
        }
        if !seen[place].adapters.contains(adapter) { seen[place].adapters.append(adapter) }
      }
    }
    return seen
  }
}
