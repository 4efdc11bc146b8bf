import DBus
import FakeRadio
import TestKit
import Testing

@testable import Nearby

@Suite(.timeLimit(.minutes(1))) struct RadioControlTests {
  private func withRadio(_ body: (RadioMachine, FakeSupplicant, RadioControl) async throws -> Void) async throws {
    let machine = try RadioMachine()
    let fake = try await FakeSupplicant(machine.bus, radio: machine.radio)
    let control = try machine.control()
    do { try await body(machine, fake, control) } catch {
      await fake.close()
      throw error
    }
    await control.stopOwn()
    await fake.close()
  }

  private func failure(_ body: () async throws(RadioError) -> Void) async -> RadioError? {
    do throws(RadioError) { try await body() } catch { return error }
    return nil
  }

  @Test func `P-NET-3 A group has a name, a password and a code, and is gone when it is stopped`() async throws {
    try await withRadio { machine, fake, control in
      await fake.change { $0.modes = ["p2p"] }
      let (radio, network) = try await control.start(RadioPlan(.group))
      #expect(radio == machine.radio && network.interface == "p2p-\(machine.radio)-0")
      #expect(network.name == "DIRECT-AB-vicinity" && network.frequency == 2437 && network.members == 1)
      #expect(network.code == #"WIFI:T:WPA;S:DIRECT-AB-vicinity;P:sou\;p is\:ready;;"#)
      #expect(network.addressing == .linkLocal && !network.isAbandoned)
      let seen = try #require(await control.radios().radios.first)
      #expect(seen.state == .network && seen.network == network && seen.kinds == [.group])
      // The names of others' groups end as before.
      #expect(await fake.postfix == "")
      let again = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.group)) }
      #expect(again?.code == .inUse)
      #expect(try await control.stop(nil) == [machine.radio])
      #expect(await !fake.hasGroup)
      #expect(await fake.calls == ["CreateInterface", "Set", "GroupAdd", "Set", "Disconnect", "RemoveInterface"])
      #expect(try await control.stop(nil) == [])
    }
  }

  @Test func `P-NET-3 A mesh has the name and the password that it was given, and no code`() async throws {
    try await withRadio { machine, fake, control in
      var plan = RadioPlan(.mesh)
      (plan.name, plan.password, plan.radio) = ("workshop", "a long secret", machine.radio)
      let (_, network) = try await control.start(plan)
      #expect(network.kind == .mesh && network.name == "workshop" && network.password == "a long secret")
      #expect(network.code == nil && network.members == 1 && network.frequency == 2412)
      #expect(network.stations.map(\.hardware) == ["02:00:00:00:02:00"])
      #expect(try await control.stop(machine.radio) == [machine.radio])
      #expect(await !fake.hasMesh)
    }
  }

  @Test func `A radio that is connected is left alone, unless it is forced; then its networks are enabled again`()
    async throws
  {
    try await withRadio { _, fake, control in
      await fake.leaveMesh(mark: "of somebody else")
      await fake.change { $0.state = "4way_handshake" }
      let error = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.mesh)) }
      #expect(error?.code == .inUse && error?.cure?.contains("--force") == true)
      #expect(await fake.calls == [])
      var plan = RadioPlan(.mesh)
      plan.isForced = true
      _ = try await control.start(plan)
      await control.stopOwn()
      #expect(await fake.calls == ["AddNetwork", "SelectNetwork", "RemoveNetwork", "Set"])
    }
  }

  @Test func `A network that a killed program has left is shown as abandoned, and ended before the next begins`()
    async throws
  {
    try await withRadio { machine, fake, control in
      await fake.leave(group: "DIRECT-XY-vicinity")
      let seen = try #require(await control.radios().radios.first?.network)
      #expect(seen.isAbandoned && seen.name == "DIRECT-XY-vicinity")
      #expect(RadioCheck.findings(await control.radios().radios, nil).map(\.state) == [.doubtful])
      let (_, network) = try await control.start(RadioPlan(.mesh))
      #expect(network.kind == .mesh)
      #expect(await fake.calls == ["Disconnect", "AddNetwork", "SelectNetwork"])
    }
    try await withRadio { _, fake, control in
      await fake.leaveMesh(mark: "vicinity-radio")
      #expect(await control.radios().radios.first?.network?.isAbandoned == true)
      let stopped = try await control.stop(nil)
      #expect(stopped.count == 1)
      #expect(await !fake.hasMesh)
    }
  }

  @Test func `Many who ask at a time are all answered, also as the last network ends`() async throws {
    try await withRadio { machine, fake, control in
      _ = try await control.start(RadioPlan(.group))
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 { group.addTask { _ = await control.radios() } }
        group.addTask { _ = try? await control.stop(nil) }
        for _ in 0..<8 { group.addTask { _ = await control.radios() } }
      }
      #expect(await !fake.hasGroup)
      await fake.change { $0.refusal = BusError(BusError.accessDeniedName, "no") }
      let errors = await withTaskGroup(of: RadioError?.self) { group in
        for _ in 0..<8 { group.addTask { await control.radios().error } }
        return await group.reduce(into: [RadioError?]()) { $0.append($1) }
      }
      #expect(errors.count == 8 && errors.allSatisfy { $0?.code == .forbidden })
      await fake.change { $0.refusal = nil }
      #expect(await control.radios().error == nil)
    }
  }

  @Test func `Networks that killed programs have left are ended all at once, and no others`() async throws {
    try await withRadio { machine, fake, control in
      #expect(await control.stopAbandoned() == [])
      await fake.leave(group: "DIRECT-XY-vicinity")
      var mark = RadioMark.claim(machine.radio)
      #expect(mark != nil)
      #expect(await control.stopAbandoned() == [])
      mark = nil
      #expect(await control.stopAbandoned() == [machine.radio])
      #expect(await !fake.hasGroup)
      await fake.leave(group: "DIRECT-XY-television")
      #expect(await control.stopAbandoned() == [])
      #expect(await fake.hasGroup)
    }
    try await withRadio { _, fake, control in
      _ = try await control.start(RadioPlan(.group))
      #expect(await control.stopAbandoned() == [])
      #expect(await fake.hasGroup)
    }
  }

  @Test func `A network of another program that lives, or of somebody else, is not ended for the next`() async throws {
    try await withRadio { machine, fake, control in
      await fake.leave(group: "DIRECT-XY-vicinity")
      var mark = RadioMark.claim(machine.radio)
      #expect(mark != nil)
      let alive = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.mesh)) }
      #expect(alive?.code == .inUse)
      mark = nil
      await fake.leave(group: "DIRECT-XY-television")
      let foreign = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.mesh)) }
      #expect(foreign?.code == .inUse && foreign?.cause.contains("television") == true)
      let stopped = try await control.stop(nil)
      #expect(stopped.isEmpty)
      #expect(await fake.hasGroup)
      // The caller named the radio, so it is meant.
      let named = try await control.stop(machine.radio)
      #expect(named == [machine.radio])
      #expect(await !fake.hasGroup)
    }
  }

  @Test
  func `Devices in a group are known by their hardware addresses, without those that have not shown the password`()
    async throws
  {
    try await withRadio { machine, fake, control in
      await fake.change {
        $0.stations = [[0x9E, 0x2A, 0, 1, 0xFF, 7], [2, 0, 0, 0, 1, 0]]
        $0.strangers = [[6, 6, 6, 6, 6, 6]]
      }
      let (_, network) = try await control.start(RadioPlan(.group))
      #expect(network.stations.map(\.hardware) == ["9e:2a:00:01:ff:07", "02:00:00:00:01:00"] && network.members == 2)
      // This process has given out no addresses, and the kernel has talked with nobody there.
      #expect(network.stations.allSatisfy { $0.address == nil && $0.name == nil } && network.addresses.isEmpty)
      await fake.change { $0.stations = (0..<200).map { [2, 0, 0, 0, 3, UInt8($0)] } }
      #expect(await control.radios().radios.first?.network?.stations.count == RadioStation.countMax - 1)
      // Before version 2.8 it counts members, and does not say which they are.
      await fake.change { ($0.stations, $0.strangers, $0.isOld) = ([[2, 0, 0, 0, 1, 0]], [], true) }
      let seen = await control.radios().radios.first?.network
      #expect(seen?.stations == [] && seen?.members == 1)
    }
  }

  @Test func `A group is reached at the addresses of its interface`() async throws {
    try await withRadio { machine, fake, control in
      try machine.add("lo")
      await fake.change { $0.groupInterface = "lo" }
      var plan = RadioPlan(.group)
      plan.radio = machine.radio
      let (_, network) = try await control.start(plan)
      #expect(network.addresses == ["127.0.0.1"])
    }
  }

  @Test func `Neighbours are read from the kernel's table, by interface, where they have answered`() {
    let text = """
      IP address       HW type     Flags       HW address            Mask     Device
      192.168.49.10    0x1         0x2         9e:2a:00:01:ff:07     *        p2p-wlan0-0
      192.168.49.11    0x1         0x0         00:00:00:00:00:00     *        p2p-wlan0-0
      10.0.0.2         0x1         0x2         02:00:00:00:01:00     *        eth0
      cut

      """
    let table = NeighbourTable(text, "p2p-wlan0-0")
    #expect(table["9e:2a:00:01:ff:07"] == "192.168.49.10")
    #expect(table["00:00:00:00:00:00"] == nil && table["02:00:00:00:01:00"] == nil)
    let station = RadioStation([0x9E, 0x2A, 0, 1, 0xFF, 7], nil, table)
    #expect(station?.address == "192.168.49.10" && station?.name == nil)
    let lease = AddressLeases.Holding(address: [192, 168, 49, 77], name: "Pixel-7")
    let leased = RadioStation([0x9E, 0x2A, 0, 1, 0xFF, 7], lease, table)
    #expect(leased?.address == "192.168.49.77" && leased?.name == "Pixel-7")
    #expect(RadioStation([1, 2, 3], nil, table) == nil)
  }

  @Test func `A group that ends by itself is noticed`() async throws {
    try await withRadio { machine, fake, control in
      _ = try await control.start(RadioPlan(.group))
      async let ended: Void = control.waitForEnd(of: machine.radio)
      await fake.endGroup()
      await ended
      #expect(await control.radios().radios.first?.network == nil)
    }
  }

  @Test func `Each obstacle has its error, with a cure`() async throws {
    func expect(
      _ code: RadioError.Code, _ cure: String, _ change: (RadioMachine, FakeSupplicant) async throws -> Void
    ) async throws {
      try await withRadio { machine, fake, control in
        try await change(machine, fake)
        let error = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.group)) }
        #expect(error?.code == code && error?.cure?.contains(cure) == true, "\(String(describing: error))")
        #expect(await !fake.hasGroup)
      }
    }
    try await expect(.blocked, "rfkill unblock") { machine, _ in
      try machine.write("1", "phy80211/rfkill0/soft", of: machine.radio)
    }
    try await expect(.blocked, "switch") { machine, _ in
      try machine.write("1", "phy80211/rfkill0/hard", of: machine.radio)
    }
    try await expect(.unsupported, "docs/radios.md") { _, fake in await fake.change { $0.modes = ["mesh"] } }
    try await expect(.inUse, "nmcli") { _, fake in try await fake.manage(true) }
    try await expect(.inUse, "Disconnect") { machine, _ in try machine.write("up", "operstate", of: machine.radio) }
    try await expect(.forbidden, "netdev") { _, fake in
      await fake.change { $0.refusal = BusError(BusError.accessDeniedName, "no") }
    }
    // A bus on which nobody owns the name.
    let machine = try RadioMachine()
    let control = try machine.control()
    let missing = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.group)) }
    #expect(missing?.code == .unavailable && missing?.cure?.contains("wpasupplicant") == true)
    let (radios, error) = await control.radios()
    #expect(radios.map(\.name) == [machine.radio] && radios.first?.kinds == nil && error?.code == .unavailable)
    #expect(RadioCheck.findings(radios, error).map(\.state) == [.good, .unknown])
    machine.bus.stop()
    #expect(await control.radios().error?.code != nil)
    // A machine without a radio.
    let bare = try RadioControl(busPath: machine.bus.path, system: SystemRadios("/nowhere"), givesAddresses: false)
    #expect(await bare.radios().radios.isEmpty)
    let none = await failure { () throws(RadioError) in _ = try await bare.stop(nil) }
    #expect(none?.code == .missing)
  }

  @Test func `A control that is dropped while it is connected ends its connection on its own loop`() async throws {
    let machine = try RadioMachine()
    let fake = try await FakeSupplicant(machine.bus, radio: machine.radio)
    for _ in 0..<8 { #expect(await (try machine.control()).radios().error == nil) }
    await fake.close()
  }

  @Test func `NetworkManager that leaves the radio alone is no obstacle`() async throws {
    try await withRadio { _, fake, control in
      try await fake.manage(false)
      #expect(try await control.start(RadioPlan(.group)).network.kind == .group)
    }
  }

  @Test func `A network that does not come up is an error, and nothing of it stays`() async throws {
    let machine = try RadioMachine()
    let fake = try await FakeSupplicant(machine.bus, radio: machine.radio)
    await fake.change { $0.isDeaf = true }
    let control = try machine.control(startTimeMax: .milliseconds(300))
    let error = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.mesh)) }
    #expect(error?.code == .failed && error?.cause.contains("in time") == true)
    #expect(await fake.calls.suffix(3) == ["RemoveNetwork", "Set", "RemoveInterface"])
    #expect(RadioMark.claim(machine.radio) != nil)
    await fake.close()
  }

  @Test func `Answers of other types are nothing, and no crash`() async throws {
    let values: [BusValue] = [
      .string("x"), .array(of: "o", [.objectPath("/x")]), .variant(.array(of: "o", [.objectPath("/x")])),
      .properties(["Ifname": .uint32(1), "Capabilities": .string("p2p")]), .structure([.byte(1)]),
    ]
    try await withRadio { machine, fake, control in
      for value in values {
        await fake.change { $0.nonsense = value }
        #expect(await control.radios().radios.allSatisfy { $0.network == nil && $0.kinds ?? [] == [] }, "\(value)")
        let error = await failure { () throws(RadioError) in _ = try await control.start(RadioPlan(.group)) }
        #expect(error != nil, "\(value)")
      }
    }
  }

  @Test func `A plan that wpa_supplicant would misread is refused before it is asked`() async throws {
    try await withRadio { _, fake, control in
      for (name, password) in [
        ("", nil), (String(repeating: "ä", count: 17), nil), ("a\"b", nil), ("a\nb", nil), ("x", "short"),
        ("x", String(repeating: "p", count: 64)), ("x", "with a \" in it"),
      ] as [(String, String?)] {
        var plan = RadioPlan(.mesh)
        (plan.name, plan.password) = (name, password)
        let error = await failure { () throws(RadioError) in _ = try await control.start(plan) }
        #expect(error?.code == .invalid && error?.field != nil, "\(name)")
      }
      #expect(await fake.calls.isEmpty)
    }
  }
}

extension RadioMachine {
  fileprivate func control(startTimeMax: Duration = RadioControl.startTimeMax) throws -> RadioControl {
    try RadioControl(
      busPath: bus.path, system: SystemRadios(path), givesAddresses: false, startTimeMax: startTimeMax)
  }
}
