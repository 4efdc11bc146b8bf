import BluetoothProtocol
import Engine
import Testing
import Wire

@testable import Media

@Suite struct BluetoothDiscoveryTests {
  private static let own = HostID(ID128(high: 0, low: 1))
  private static let ben = HostID(ID128(high: 0, low: 2))
  private static let laptop = BluetoothAddress(0xA)
  private static let phone = BluetoothAddress(0xB)
  private static let computerClass: UInt32 = 0x10_0104
  private static let phoneClass: UInt32 = 0x5A_020C
  private static let headsetClass: UInt32 = 0x24_0404

  /// A discovery with a clock, and the time for which it has inquired.
  private struct Scene {
    var discovery = BluetoothDiscovery(of: own) { 0 }
    var now = Instant(nanoseconds: 0)
    var inquiring: Duration = .zero

    var actions: [BluetoothDiscovery.Action] {
      mutating get { discovery.takeActions() }
    }

    mutating func begin() {
      discovery.start(at: now)
      discovery.browse(true, at: now)
    }

    mutating func wait(_ time: Duration) {
      now = now + time
      discovery.advance(at: now)
    }

    /// Waits for the next deadline.
    mutating func proceed() throws {
      now = max(now, try #require(discovery.deadline))
      discovery.advance(at: now)
    }

    /// One inquiry that finds these, with all searches after it.
    mutating func inquire(finding devices: [BluetoothAddress: [HostID]?]) throws -> [BluetoothDiscovery.Action] {
      if discovery.actions.isEmpty { try proceed() }
      guard case .inquire(let units)? = actions.first else { throw Missing() }
      let time = Duration.milliseconds(1_280) * Int(units)
      now = now + time
      inquiring += time
      for device in devices.keys { discovery.seen(device, deviceClass: computerClass) }
      discovery.inquired(succeeded: true, at: now)
      var others: [BluetoothDiscovery.Action] = []
      while true {
        let actions = actions
        if actions.isEmpty { return others }
        for action in actions {
          guard case .search(let device) = action else {
            others.append(action)
            continue
          }
          now = now + .milliseconds(100)
          discovery.searched(device, devices[device] ?? nil, at: now)
        }
      }
    }
  }

  private struct Missing: Error {}

  @Test func `It inquires as soon as somebody browses, and not before or after`() throws {
    var scene = Scene()
    scene.discovery.start(at: scene.now)
    #expect(scene.actions.isEmpty && scene.discovery.deadline == nil)
    scene.discovery.browse(true, at: scene.now)
    #expect(scene.actions == [.inquire(units: BluetoothDiscovery.firstUnits)])
    scene.discovery.browse(false, at: scene.now)
    scene.discovery.inquired(succeeded: true, at: scene.now)
    scene.wait(.seconds(3_600))
    #expect(scene.actions.isEmpty && scene.discovery.deadline == nil)
  }

  @Test func `P-NET-2 A host is shown within six seconds, a device's answer included`() throws {
    var scene = Scene()
    scene.begin()
    let shown = try scene.inquire(finding: [Self.laptop: [Self.ben], Self.phone: []])
    #expect(shown == [.show(Self.ben, [Self.laptop])])
    #expect(scene.now < Instant(nanoseconds: 6_000_000_000))
  }

  @Test func `While nothing changes inquiries become rare, down to a twentieth of the time`() throws {
    var scene = Scene()
    scene.begin()
    _ = try scene.inquire(finding: [Self.laptop: [Self.ben]])
    for _ in 0..<8 { _ = try scene.inquire(finding: [Self.laptop: [Self.ben]]) }
    let (start, before) = (scene.now, scene.inquiring)
    for _ in 0..<50 { _ = try scene.inquire(finding: [Self.laptop: [Self.ben]]) }
    #expect((scene.inquiring - before) / (scene.now - start) < 0.05)
    // A change brings the pace back.
    _ = try scene.inquire(finding: [Self.laptop: []])
    let changed = scene.now
    _ = try scene.inquire(finding: [:])
    #expect(scene.now - changed < .seconds(10))
  }

  @Test func `A host lasts over inquiries that miss it, and a search that fails once`() throws {
    var scene = Scene()
    scene.begin()
    #expect(try scene.inquire(finding: [Self.laptop: [Self.ben]]) == [.show(Self.ben, [Self.laptop])])
    for _ in 1..<BluetoothDiscovery.missedMax { #expect(try scene.inquire(finding: [:]) == []) }
    #expect(try scene.inquire(finding: [Self.laptop: [Self.ben]]) == [])
    for _ in 1..<BluetoothDiscovery.missedMax { #expect(try scene.inquire(finding: [:]) == []) }
    // The last inquiry that misses it is followed by searches.
    #expect(try scene.inquire(finding: [:]) == [.hide(Self.ben)])
  }

  @Test func `A host that its device no longer names is gone at once`() throws {
    var scene = Scene()
    scene.begin()
    _ = try scene.inquire(finding: [Self.laptop: [Self.ben]])
    #expect(try scene.inquire(finding: [Self.laptop: []]) == [.hide(Self.ben)])
  }

  @Test func `A host at two devices is at the one that is left`() throws {
    var scene = Scene()
    scene.begin()
    #expect(
      try scene.inquire(finding: [Self.laptop: [Self.ben], Self.phone: [Self.ben]]).last
        == .show(Self.ben, [Self.laptop, Self.phone]))
    #expect(try scene.inquire(finding: [Self.laptop: [], Self.phone: [Self.ben]]) == [.show(Self.ben, [Self.phone])])
  }

  @Test func `Computers are asked first, headsets never, and devices without hosts once in a minute`() throws {
    var scene = Scene()
    scene.begin()
    _ = scene.actions
    scene.discovery.seen(Self.phone, deviceClass: Self.phoneClass)
    scene.discovery.seen(Self.laptop, deviceClass: Self.computerClass)
    scene.discovery.seen(BluetoothAddress(0xC), deviceClass: Self.headsetClass)
    scene.discovery.inquired(succeeded: true, at: scene.now)
    #expect(scene.actions == [.search(Self.laptop)])
    scene.discovery.searched(Self.laptop, [], at: scene.now)
    #expect(scene.actions == [.search(Self.phone)])
    scene.discovery.searched(Self.phone, [], at: scene.now)
    #expect(scene.actions.isEmpty)
    try scene.proceed()
    scene.discovery.seen(Self.laptop, deviceClass: Self.computerClass)
    _ = scene.actions
    scene.discovery.inquired(succeeded: true, at: scene.now)
    #expect(scene.actions.isEmpty)
    scene.wait(BluetoothDiscovery.searchAgain)
    scene.discovery.seen(Self.laptop, deviceClass: Self.computerClass)
    _ = scene.actions
    scene.discovery.inquired(succeeded: true, at: scene.now)
    #expect(scene.actions == [.search(Self.laptop)])
  }

  @Test func `A device that connects or refuses is asked at once`() throws {
    var scene = Scene()
    scene.begin()
    _ = try scene.inquire(finding: [:])
    scene.discovery.noticed(Self.phone, at: scene.now)
    #expect(scene.actions == [.search(Self.phone)])
    scene.discovery.searched(Self.phone, [Self.ben], at: scene.now)
    #expect(scene.actions == [.show(Self.ben, [Self.phone])])
  }

  @Test func `A device that connects again and again delays neither inquiries nor other searches for long`() throws {
    var scene = Scene()
    scene.begin()
    _ = scene.actions
    scene.discovery.seen(Self.phone, deviceClass: Self.phoneClass)
    scene.discovery.inquired(succeeded: true, at: scene.now)
    scene.discovery.noticed(Self.laptop, at: scene.now)
    var (searched, inquiries): ([BluetoothAddress], Int) = ([], 0)
    for _ in 0..<100 {
      scene.wait(.milliseconds(500))
      for action in scene.actions {
        switch action {
        case .search(let device):
          searched.append(device)
          scene.discovery.noticed(Self.laptop, at: scene.now)
          scene.discovery.searched(device, [], at: scene.now)
        case .inquire:
          inquiries += 1
          scene.discovery.inquired(succeeded: true, at: scene.now)
          scene.discovery.noticed(Self.laptop, at: scene.now)
        case .show, .hide: Issue.record("\(action)")
        }
      }
    }
    #expect(searched.prefix(2).contains(Self.phone))
    #expect(inquiries > 3)
  }

  /// Devices of which each connects once, and does not answer; returns the time until a host is shown.
  private func timeUntilShown(amongStrangers count: Int) throws -> Duration? {
    var scene = Scene()
    scene.begin()
    let found = BluetoothAddress(.max)
    let start = scene.now
    var next: UInt64 = 0
    func connect(_ scene: inout Scene) {
      guard next < count else { return }
      scene.discovery.noticed(BluetoothAddress(next), at: scene.now)
      next += 1
    }
    while scene.now - start < .seconds(7_200) {
      for action in scene.actions {
        switch action {
        case .inquire:
          scene.now = scene.now + .milliseconds(2_560)
          scene.discovery.seen(found, deviceClass: Self.phoneClass)
          for _ in 0..<20 { connect(&scene) }
          scene.discovery.inquired(succeeded: true, at: scene.now)
        case .search(let device):
          // Paging a device that is not there takes its time.
          let isThere = device == found
          for _ in 0..<20 { connect(&scene) }
          scene.now = scene.now + (isThere ? .milliseconds(200) : .seconds(10))
          scene.discovery.searched(device, isThere ? [Self.ben] : nil, at: scene.now)
        case .show(let host, _):
          #expect(host == Self.ben)
          return scene.now - start
        case .hide: Issue.record("nothing was shown")
        }
      }
      if scene.discovery.actions.isEmpty { try scene.proceed() }
    }
    return nil
  }

  @Test func `Three hundred strangers that connect and say nothing delay a host that is found by one search`() throws {
    #expect(try #require(try timeUntilShown(amongStrangers: 0)) < .seconds(3))
    #expect(try #require(try timeUntilShown(amongStrangers: 300)) < .seconds(14))
    // However many come.
    #expect(try #require(try timeUntilShown(amongStrangers: 100_000)) < .seconds(14))
  }

  @Test func `Devices that an inquiry has found have places, though strangers with hosts of their own fill the table`()
    throws
  {
    var scene = Scene()
    scene.begin()
    _ = scene.actions
    scene.discovery.inquired(succeeded: true, at: scene.now)
    for number in 0..<1_000 as Range<UInt64> {
      scene.discovery.noticed(BluetoothAddress(number), at: scene.now)
      for case .search(let device) in scene.actions {
        scene.discovery.searched(device, [HostID(ID128(high: 9, low: number))], at: scene.now)
      }
    }
    _ = scene.actions
    try scene.proceed()
    let found = BluetoothAddress(.max)
    scene.discovery.seen(found, deviceClass: Self.computerClass)
    scene.discovery.inquired(succeeded: true, at: scene.now)
    var searched: Set<BluetoothAddress> = []
    for _ in 0..<BluetoothDiscovery.devicesMax {
      for case .search(let device) in scene.actions {
        searched.insert(device)
        scene.discovery.searched(device, [], at: scene.now)
      }
    }
    #expect(searched.contains(found))
  }

  @Test func `A process that does not answer delays the next step, and no more`() throws {
    var scene = Scene()
    scene.begin()
    #expect(scene.actions == [.inquire(units: BluetoothDiscovery.firstUnits)])
    try scene.proceed()
    scene.discovery.noticed(Self.laptop, at: scene.now)
    #expect(scene.actions == [.search(Self.laptop)])
    try scene.proceed()
    try scene.proceed()
    #expect(scene.actions.contains(.inquire(units: BluetoothDiscovery.laterUnits)))
  }

  @Test func `Answers to what was not asked, own records and crowds of devices and hosts are bounded`() throws {
    var scene = Scene()
    scene.begin()
    _ = scene.actions
    scene.discovery.searched(Self.laptop, [Self.ben], at: scene.now)
    #expect(scene.actions.isEmpty)
    for number in 0..<10_000 as Range<UInt64> {
      scene.discovery.seen(BluetoothAddress(number), deviceClass: Self.computerClass)
    }
    scene.discovery.inquired(succeeded: true, at: scene.now)
    var (searches, shown): (Int, Set<HostID>) = (0, [])
    var next: UInt64 = 10
    while true {
      let actions = scene.actions
      if actions.isEmpty { break }
      for action in actions {
        if case .show(let host, _) = action { shown.insert(host) }
        guard case .search(let device) = action else { continue }
        searches += 1
        let hosts = (0..<16).map { HostID(ID128(high: 0, low: next + $0)) } + [Self.own]
        next += 16
        scene.discovery.searched(device, hosts, at: scene.now)
      }
    }
    #expect(searches == BluetoothDiscovery.devicesMax && shown.count == BluetoothDiscovery.hostsMax)
    #expect(!shown.contains(Self.own))
  }

  @Test func `Known devices stay while the process restarts, and not if Bluetooth is turned off`() throws {
    var scene = Scene()
    scene.begin()
    _ = try scene.inquire(finding: [Self.laptop: [Self.ben]])
    scene.discovery.interrupt()
    #expect(scene.actions.isEmpty && scene.discovery.deadline == nil)
    scene.discovery.start(at: scene.now)
    #expect(scene.actions == [.inquire(units: BluetoothDiscovery.firstUnits)])
    scene.discovery.stop()
    #expect(scene.actions == [.hide(Self.ben)] && scene.discovery.deadline == nil)
  }
}
