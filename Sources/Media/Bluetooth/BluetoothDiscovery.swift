internal import BluetoothProtocol
internal import Engine
internal import Wire

/// The decisions of discovery by Bluetooth: when to inquire, which devices to ask for their hosts, and how long a host counts
/// as there. It has neither clock nor I/O: after each input its owner performs the actions, and calls `advance` at `deadline`.
///
/// Invariants:
/// - An inquiry takes the adapter's air time, so there is none while nobody browses. While somebody does, the pause between
///   two doubles for as long as nothing changes, until they take less than 5 % of the time.
/// - One inquiry or one search at a time; each has a limit of time, whatever the process does. An inquiry that is due waits for
///   `searchesMax` searches at most, and devices are searched in turns: one that connects again and again delays nobody for long.
/// - Strangers, which connect and were not found, have few places, and every other turn: a crowd of them delays nobody either.
/// - A host is there until an inquiry has missed its device three times and the device does not answer a search, or it
///   answers that it has no such host.
struct BluetoothDiscovery {
  enum Action: Hashable {
    case inquire(units: UInt8)
    case search(BluetoothAddress)
    /// A host is there, at these devices from now on.
    case show(HostID, [BluetoothAddress])
    case hide(HostID)
  }

  /// 2.56 s: what is near and alone is found at once.
  static let firstUnits: UInt8 = 2
  /// 5.12 s, in which a device is found in whichever half of the frequencies it listens.
  static let laterUnits: UInt8 = 4
  static let pauseMin: Duration = .seconds(2)
  static let pauseMax: Duration = .seconds(100)
  /// A paging adapter gives up after 5.12 s; with the time to be asked it has its share twice.
  static let searchTimeMax: Duration = .seconds(15)
  private static let inquiryTimeMax: Duration = .seconds(25)
  /// Inquiries in a row, of which each misses one device in some.
  static let missedMax = 3
  private static let failuresMax = 2
  /// A device without hosts is asked again after this time: a program may have been started there.
  static let searchAgain: Duration = .seconds(60)
  /// Searches between two inquiries, where the second is due.
  static let searchesMax = 8
  static let devicesMax = 256
  /// Devices that have connected, were never found by an inquiry, and have no hosts, as far as is known.
  static let strangersMax = 8
  static let hostsMax = 64

  private struct Device {
    var hosts: [HostID] = []
    var missed = 0
    var failures = 0
    /// Computers come first among those that were never searched.
    var isComputer: Bool
    var isSeen = false
    /// An inquiry has found it, at some time.
    var isFound = false
    var searched: Instant?
    var wantsSearch = false

    var isStranger: Bool { !isFound && hosts.isEmpty }
  }

  private(set) var actions: [Action] = []
  private let host: HostID
  /// A fraction of one, so that two hosts do not inquire in step: an inquiring device finds, and is not found.
  private let random: () -> Double
  private var isBrowsing = false
  private var isAvailable = false
  private var devices: [BluetoothAddress: Device] = [:]
  private var shown: [HostID: [BluetoothAddress]] = [:]
  /// The limit of the inquiry that runs.
  private var inquiry: Instant?
  private var search: (device: BluetoothAddress, limit: Instant)?
  private var nextInquiry: Instant?
  /// Searches since the last inquiry.
  private var searches = 0
  private var wasStrangersTurn = false
  private var pause = pauseMin
  private var isFirst = true
  private var hasChanged = false

  /// The discovery of a host that does not look for itself.
  init(of host: HostID, random: @escaping () -> Double = { .random(in: 0..<1) }) {
    self.host = host
    self.random = random
  }

  mutating func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  /// The next time at which it wants to be called.
  var deadline: Instant? {
    guard isAvailable else { return nil }
    return inquiry ?? search?.limit ?? (isBrowsing ? nextInquiry : nil)
  }

  // MARK: Inputs

  mutating func browse(_ isBrowsing: Bool, at now: Instant) {
    guard isBrowsing != self.isBrowsing else { return }
    self.isBrowsing = isBrowsing
    if isBrowsing { restart(now) } else { forget() }
    advance(at: now)
  }

  /// The adapters work. What was known stays, and is looked at again.
  mutating func start(at now: Instant) {
    if isAvailable { return }
    isAvailable = true
    restart(now)
    advance(at: now)
  }

  /// The process has gone, and is started again.
  mutating func interrupt() {
    isAvailable = false
    (inquiry, search) = (nil, nil)
  }

  /// Nothing works, so nothing is known.
  mutating func stop() {
    interrupt()
    forget()
  }

  mutating func seen(_ address: BluetoothAddress, deviceClass: UInt32) {
    guard isBrowsing, inquiry != nil, let isComputer = Self.classify(deviceClass) else { return }
    if devices[address] == nil {
      if devices.count == Self.devicesMax { forgetUnfound() }
      guard devices.count < Self.devicesMax else { return }
    }
    devices[address, default: Device(isComputer: isComputer)].isSeen = true
    devices[address]?.isFound = true
  }

  mutating func inquired(succeeded: Bool, at now: Instant) {
    guard inquiry != nil else { return }
    endInquiry(succeeded: succeeded, now)
    advance(at: now)
  }

  /// The hosts of a device; nil where it does not answer.
  mutating func searched(_ address: BluetoothAddress, _ hosts: [HostID]?, at now: Instant) {
    guard search?.device == address else { return }
    endSearch(hosts, now)
    advance(at: now)
  }

  /// A device has connected, or a connection with one has failed: it is asked at once.
  mutating func noticed(_ address: BluetoothAddress, at now: Instant) {
    guard isBrowsing, devices[address] != nil || makeRoomForStranger() else { return }
    devices[address, default: Device(isComputer: true)].wantsSearch = true
    advance(at: now)
  }

  /// Begins what is due.
  mutating func advance(at now: Instant) {
    if let limit = inquiry, limit <= now { endInquiry(succeeded: false, now) }
    if let limit = search?.limit, limit <= now { endSearch(nil, now) }
    guard isAvailable, inquiry == nil, search == nil else { return }
    let isInquiryDue = isBrowsing && nextInquiry.map { $0 <= now } == true
    if !isInquiryDue || searches < Self.searchesMax, let address = nextToSearch {
      searches += 1
      wasStrangersTurn = devices[address]?.isStranger == true
      devices[address]?.wantsSearch = false
      search = (address, now + Self.searchTimeMax)
      actions.append(.search(address))
    } else if isInquiryDue {
      searches = 0
      for address in devices.keys { devices[address]?.isSeen = false }
      inquiry = now + Self.inquiryTimeMax
      actions.append(.inquire(units: isFirst ? Self.firstUnits : Self.laterUnits))
      isFirst = false
    }
  }

  // MARK: Inquiries

  private mutating func restart(_ now: Instant) {
    nextInquiry = now
    pause = Self.pauseMin
    isFirst = true
    hasChanged = true
  }

  private mutating func endInquiry(succeeded: Bool, _ now: Instant) {
    inquiry = nil
    pause = hasChanged ? Self.pauseMin : min(pause * 2, Self.pauseMax)
    hasChanged = false
    nextInquiry = now + pause + pause * (random() / 4)
    guard succeeded else { return }
    for (address, device) in devices {
      if device.isSeen {
        devices[address]?.missed = 0
        let isDue = device.searched.map { $0 + Self.searchAgain <= now } ?? true
        if isDue || !device.hosts.isEmpty { devices[address]?.wantsSearch = true }
      } else {
        devices[address]?.missed += 1
        guard device.missed + 1 >= Self.missedMax else { continue }
        // Its last chance; and one without hosts is forgotten.
        if device.hosts.isEmpty { devices[address] = nil } else { devices[address]?.wantsSearch = true }
      }
    }
  }

  private var nextToSearch: BluetoothAddress? {
    devices.filter { $0.value.wantsSearch }.min { turn($0) < turn($1) }?.key
  }

  private func turn(_ entry: (key: BluetoothAddress, value: Device)) -> (Int, Int64, Int, BluetoothAddress) {
    (
      entry.value.isStranger == wasStrangersTurn ? 1 : 0, entry.value.searched?.nanoseconds ?? .min,
      entry.value.isComputer ? 0 : 1, entry.key
    )
  }

  // MARK: Strangers

  /// Returns whether there is a place for one more, for which one that was searched may go.
  private mutating func makeRoomForStranger() -> Bool {
    let strangers = devices.filter(\.value.isStranger)
    if strangers.count >= Self.strangersMax {
      let done = strangers.filter { !$0.value.wantsSearch && $0.key != search?.device }
      guard let oldest = done.min(by: { turn($0) < turn($1) })?.key else { return false }
      devices[oldest] = nil
    }
    return devices.count < Self.devicesMax
  }

  /// Forgets a device that no inquiry has found, whatever it says of itself, for one that was found.
  private mutating func forgetUnfound() {
    let unfound = devices.filter { !$0.value.isFound && $0.key != search?.device }
    if let oldest = unfound.min(by: { turn($0) < turn($1) })?.key { devices[oldest] = nil }
  }

  private mutating func endSearch(_ hosts: [HostID]?, _ now: Instant) {
    guard let address = search?.device else { return }
    search = nil
    guard var device = devices[address] else { return }
    device.searched = now
    if let hosts {
      device.failures = 0
      device.missed = 0
      device.hosts = hosts.filter { $0 != host }
    } else {
      device.failures += 1
      if device.failures < Self.failuresMax, !device.hosts.isEmpty {
        device.wantsSearch = true
      } else {
        device.hosts = []
      }
    }
    devices[address] = device.hosts.isEmpty && device.missed >= Self.missedMax ? nil : device
    review(now)
  }

  /// Returns whether a device is a computer, by its major class; nil for one that has no hosts, such as a headset.
  private static func classify(_ deviceClass: UInt32) -> Bool? {
    switch deviceClass >> 8 & 0x1F {
    case 1: true
    // Phones, access points, and those that say nothing.
    case 0, 2, 3, 31: false
    default: nil
    }
  }

  // MARK: Hosts

  private mutating func review(_ now: Instant) {
    var found: [HostID: [BluetoothAddress]] = [:]
    for (address, device) in devices.sorted(by: { $0.key < $1.key }) {
      for host in device.hosts where found[host] != nil || found.count < Self.hostsMax {
        found[host, default: []].append(address)
      }
    }
    for host in shown.keys.sorted(by: { $0.raw < $1.raw }) where found[host] == nil { actions.append(.hide(host)) }
    for (host, addresses) in found.sorted(by: { $0.key.raw < $1.key.raw }) where shown[host] != addresses {
      actions.append(.show(host, addresses))
    }
    guard found != shown else { return }
    shown = found
    hasChanged = true
    if let next = nextInquiry { nextInquiry = min(next, now + Self.pauseMin) }
  }

  private mutating func forget() {
    devices = [:]
    for host in shown.keys.sorted(by: { $0.raw < $1.raw }) { actions.append(.hide(host)) }
    shown = [:]
  }
}
