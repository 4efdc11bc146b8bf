internal import DBus
internal import Glibc
internal import Reactor
internal import Wire

/// Keeps the host's record in the device's database: by bluetoothd's `ProfileManager1` on D-Bus, which stock systems have,
/// else by its socket. Where bluetoothd starts anew, the record is registered again.
final class RecordKeeper: @unchecked Sendable {
  // `@unchecked`: it is touched on its reactor's thread alone, which is the main one.

  private static let service = "org.bluez"
  private static let object = "/vicinity/host"
  /// The error of bluetoothd for an object of this connection that it has registered.
  private static let alreadyExists = "org.bluez.Error.AlreadyExists"

  private let reactor: Reactor
  private let record: HostRecord
  private let system: any BluetoothSystem
  private let busPath: String
  private let pause: Duration
  /// Something may have changed: the record, or an adapter of which bluetoothd reports.
  private let changed: () -> Void
  private var bus: BusConnection?
  private var retry: Timer?
  /// The number of the latest try: the result of an earlier one, which may come after it, says nothing any more.
  private var tries = 0
  private(set) var isRegistered = false

  /// The pause is between tries without D-Bus, or where bluetoothd has refused.
  init(
    _ record: HostRecord, by system: any BluetoothSystem, overBusAt busPath: String, on reactor: Reactor,
    pause: Duration = .seconds(5), changed: @escaping () -> Void
  ) {
    self.reactor = reactor
    self.record = record
    self.system = system
    self.busPath = busPath
    self.pause = pause
    self.changed = changed
    connect()
  }

  /// Whether changes of adapters are reported.
  var followsAdapters: Bool { bus != nil }

  private func connect() {
    do throws(BusError) {
      let bus = try BusConnection(busPath, on: reactor)
      bus.onEnd = { [unowned self] _ in
        self.bus = nil
        set(false)
        retryLater()
      }
      bus.export(Self.object) { $0.reply() }
      bus.follow(Self.service) { [unowned self] in handle($0) }
      self.bus = bus
    } catch {
      registerLocally()
    }
  }

  private func handle(_ event: BusServiceEvent) {
    switch event {
    case .started: registerOnBus()
    case .stopped, .failed:
      set(false)
      registerLocally()
    case .signal(let signal): if !Self.concernsDevice(signal) { changed() }
    }
  }

  /// Devices change many times in a second while somebody scans.
  private static func concernsDevice(_ signal: BusSignal) -> Bool {
    if case .objectPath(let object)? = signal.arguments.first { return object.contains("/dev_") }
    return signal.path.contains("/dev_")
  }

  private func registerOnBus() {
    tries += 1
    let options: [String: BusValue] = [
      "ServiceRecord": .string(record.xml), "Role": .string("server"), "RequireAuthentication": .boolean(false),
      "RequireAuthorization": .boolean(false), "AutoConnect": .boolean(false),
    ]
    bus?.call(
      Self.service, "/org/bluez", "org.bluez.ProfileManager1", "RegisterProfile",
      [.objectPath(Self.object), .string(HostRecord.text(of: record.host)), .properties(options)]
    ) { [weak self, tries] answer in
      guard let self, tries == self.tries else { return }
      switch answer {
      case .success: set(true)
      // It did so at an earlier call, and answered too late.
      case .failure(let error) where error.name == Self.alreadyExists: set(true)
      case .failure: registerLocally()
      }
    }
  }

  private func registerLocally() {
    tries += 1
    system.register(record) { [weak self, tries] succeeded in
      guard let self, tries == self.tries else { return }
      set(succeeded)
      if !succeeded { retryLater() }
    }
  }

  private func retryLater() {
    guard retry == nil else { return }
    retry = reactor.schedule(after: pause) { [weak self] in
      guard let self else { return }
      retry = nil
      if isRegistered { return }
      guard let bus else { return connect() }
      if bus.owner(of: Self.service) != nil { registerOnBus() } else { registerLocally() }
    }
  }

  private func set(_ isRegistered: Bool) {
    self.isRegistered = isRegistered
    changed()
  }
}
