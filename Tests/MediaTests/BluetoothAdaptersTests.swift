import BluetoothProtocol
import Engine
import Glibc
import Reactor
import Testing
import Wire

@testable import Media

/// The medium on a machine with two adapters, beside a host with one.
@Suite struct BluetoothAdaptersTests {
  private typealias Owner = BluetoothScene.Owner

  private static let type = try! ServiceType("radio-test")  // legal: lower-case letters and a hyphen
  private static let first = BluetoothAddress(0xA1)
  private static let second = BluetoothAddress(0xA2)
  private static let device = BluetoothAddress(0xB)
  private static let address = try! Address(text: "rfcomm:00000000000b")  // legal: six bytes in hexadecimal

  private static func scene() throws -> BluetoothScene { try BluetoothScene([0xA1, 0xA2], [0xB]) }

  /// A host whose device only the second adapter reaches.
  private static func sceneWithFirstOutOfReach() throws -> BluetoothScene {
    let scene = try scene()
    scene.reaches = { adapter, device in ![adapter, device].contains(first) }
    return scene
  }

  /// Lets the first host find the other one and dial it, and calls `next` with the link.
  private func findAndDial(_ scene: BluetoothScene, for caller: Recorder, _ next: @escaping (SecureLink) -> Void) {
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await(Owner.isSeen) {
        guard case .seen(_, let host, let addresses)? = scene.owners[0].events.last else { return }
        #expect(host == scene.host(1) && addresses == [Self.address])
        caller.opened = next
        _ = scene.media[0].dial(host, at: addresses, for: caller) {
          Issue.record("the dial failed")
          scene.stop()
        }
      }
    }
  }

  @Test func `P-NET-2 A host within reach of the second of two adapters is found and connected by that`() throws {
    let scene = try Self.sceneWithFirstOutOfReach()
    scene.sees = { adapter, _ in adapter == Self.second }
    let caller = Recorder()
    findAndDial(scene, for: caller) { _ in scene.stop() }
    #expect(caller.remoteKeys == [scene.keys[1].publicKey])
    #expect(scene.processes[0].searchers == [Self.second] && scene.processes[0].connecters == [Self.second])
  }

  @Test func `A device that two adapters see and one reaches is one host, searched by both and connected by that one`()
    throws
  {
    let scene = try Self.sceneWithFirstOutOfReach()
    let caller = Recorder()
    findAndDial(scene, for: caller) { _ in scene.stop() }
    #expect(caller.remoteKeys == [scene.keys[1].publicKey])
    #expect(scene.processes[0].searchers == [Self.first, Self.second])
    #expect(scene.processes[0].connecters == [Self.second])
    #expect(scene.owners[0].events.filter(Owner.isSeen).count == 1)
  }

  @Test func `A device that no adapter reaches is searched by each once, and is no host`() throws {
    let scene = try Self.scene()
    scene.reaches = { _, _ in false }
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      // Until the inquiry after it.
      scene.reactor.schedule(after: .seconds(3)) { scene.stop() }
    }
    #expect(scene.processes[0].searchers == [Self.first, Self.second])
    #expect(!scene.owners[0].events.contains(where: Owner.isSeen))
  }

  @Test func `A host that was never seen is dialled by each adapter, and at once by the one that has reached it`()
    throws
  {
    let scene = try Self.sceneWithFirstOutOfReach()
    let callers = [Recorder(), Recorder()]
    scene.run {
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        func dial(_ caller: Recorder) {
          _ = scene.media[0].dial(scene.host(1), at: [Self.address], for: caller) { Issue.record("the dial failed") }
        }
        callers[0].opened = { _ in
          #expect(scene.processes[0].connecters == [Self.first, Self.second])
          dial(callers[1])
        }
        callers[1].opened = { _ in scene.stop() }
        dial(callers[0])
      }
    }
    #expect(scene.processes[0].connecters == [Self.first, Self.second, Self.second])
    #expect(callers.allSatisfy { $0.remoteKeys == [scene.keys[1].publicKey] })
  }

  @Test func `A host that has connected with an adapter is dialled by that`() throws {
    let scene = try Self.scene()
    let callers = [Recorder(), Recorder()]
    scene.run {
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        guard let second = try? Address(text: "rfcomm:0000000000a2") else { return }
        scene.owners[0].incoming.opened = { _ in
          _ = scene.media[0].dial(scene.host(1), at: [Self.address], for: callers[0]) {
            Issue.record("the dial failed")
          }
        }
        callers[0].opened = { _ in scene.stop() }
        // Its process has begun by then.
        scene.reactor.schedule(after: .milliseconds(50)) {
          _ = scene.media[1].dial(scene.host(0), at: [second], for: callers[1]) { Issue.record("the dial failed") }
        }
      }
    }
    #expect(scene.processes[0].connecters == [Self.second])
    #expect(scene.owners[0].incoming.remoteKeys == [scene.keys[1].publicKey])
  }

  @Test func `An adapter that goes away under a search and a dial leaves both to the other one`() throws {
    let scene = try Self.scene()
    let (process, honest) = (scene.processes[0], scene.processes[0].act)
    let caller = Recorder()
    /// The adapter goes with its work, and comes back.
    func goAway(_ adapter: BluetoothAddress, _ report: BluetoothReport) {
      process.send(.state(BluetoothState(addresses: process.adapters.filter { $0 != adapter })))
      process.send(report)
      process.send(.state(BluetoothState(addresses: process.adapters)))
    }
    var (hasLostSearch, hasLostDial) = (false, false)
    process.act = { process, command in
      switch command {
      case .search(let device, let adapter) where !hasLostSearch:
        hasLostSearch = true
        #expect(adapter == Self.first)
        goAway(adapter, .searched(device, from: adapter, nil))
      case .connect(let ticket, _, _, let adapter) where !hasLostDial:
        hasLostDial = true
        #expect(adapter == Self.second)
        goAway(adapter, .failed(ticket: ticket, code: ENODEV))
      default: honest(process, command)
      }
    }
    findAndDial(scene, for: caller) { _ in scene.stop() }
    // A dial that fails is followed by one search more.
    #expect(process.searchers.prefix(2) == [Self.first, Self.second])
    #expect(process.connecters == [Self.second, Self.first])
    #expect(caller.remoteKeys == [scene.keys[1].publicKey] && process.count == 1)
    // The host stays while an adapter comes and goes.
    #expect(!scene.owners[0].events.contains { if case .gone = $0 { true } else { false } })
  }

  @Test func `A link stands while the other adapter comes and goes`() throws {
    let scene = try Self.scene()
    let caller = Recorder()
    let bytes = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
    findAndDial(scene, for: caller) { link in
      scene.owners[1].incoming.hasReceived = {
        if scene.owners[1].incoming.received.count == bytes.count { scene.stop() }
      }
      scene.await({ $0 == .addresses }) {
        #expect(scene.media[0].addresses.map(\.description) == ["rfcomm:0000000000a2"])
        scene.processes[0].send(.state(BluetoothState(addresses: [Self.first, Self.second])))
        caller.toSend = bytes
        link.wantsToSend()
      }
      scene.processes[0].send(.state(BluetoothState(addresses: [Self.second])))
    }
    #expect(scene.owners[1].incoming.received == bytes && caller.ends.isEmpty)
  }

  @Test func `An adapter of this machine that another one sees is no device`() throws {
    let scene = try Self.scene()
    let (process, honest) = (scene.processes[0], scene.processes[0].act)
    process.act = { process, command in
      if case .inquire = command { process.send(.seen(Self.second, deviceClass: 0x104, at: [Self.first])) }
      honest(process, command)
    }
    findAndDial(scene, for: Recorder()) { _ in scene.stop() }
    #expect(process.commands.contains(.search(Self.device, from: Self.first)))
    #expect(!process.commands.contains { if case .search(Self.second, _) = $0 { true } else { false } })
  }

  @Test func `Adapters that a process names and does not have, or has twice, are asked for nothing`() throws {
    let scene = try Self.scene()
    let (process, honest) = (scene.processes[0], scene.processes[0].act)
    let stranger = try Descriptor.pair()
    let absent = BluetoothAddress(0xEE)
    process.adapters = [Self.second, Self.second, Self.first, Self.second]
    process.act = { process, command in
      switch command {
      case .inquire:
        process.send(.seen(Self.device, deviceClass: 0x104, at: [absent, absent]))
        process.send(.accepted(Self.device, at: absent), passing: stranger.ours.number)
        process.send(.inquired(succeeded: true))
      case .search(let device, let adapter):
        // Answers of others, and of the one that was asked.
        process.send(.searched(device, from: absent, [scene.host(0)]))
        process.send(.searched(absent, from: adapter, nil))
        honest(process, command)
      default: honest(process, command)
      }
    }
    let caller = Recorder()
    findAndDial(scene, for: caller) { _ in scene.stop() }
    #expect(caller.remoteKeys == [scene.keys[1].publicKey] && process.count == 1)
    #expect(process.searchers.allSatisfy { $0 == Self.second } && process.connecters == [Self.second])
  }
}
