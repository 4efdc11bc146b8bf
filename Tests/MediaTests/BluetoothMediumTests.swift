import BluetoothProtocol
import Engine
import Glibc
import Reactor
import Testing
import Wire

@testable import Media

/// The medium with a process that is played by the test, over a pair of sockets.
@Suite struct BluetoothMediumTests {
  private static let type = try! ServiceType("radio-test")  // legal: lower-case letters and a hyphen
  private typealias Scene = BluetoothScene
  private typealias Owner = BluetoothScene.Owner

  @Test func `P-NET-2 A host is found, and a link to it lives on when the process is killed, which is started again`()
    throws
  {
    let scene = try Scene()
    let caller = Recorder()
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await(Owner.isSeen) {
        guard case .seen(_, let host, let addresses)? = scene.owners[0].events.last else { return }
        #expect(host == scene.host(1) && addresses.map(\.description) == ["rfcomm:00000000000b"])
        #expect(scene.media[0].addresses.map(\.description) == ["rfcomm:00000000000a"])
        #expect(addresses.allSatisfy(scene.media[1].owns))
        caller.opened = { link in
          caller.toSend = bytes
          scene.processes.forEach { $0.kill() }
          link.wantsToSend()
        }
        _ = scene.media[0].dial(host, at: addresses, for: caller) { Issue.record("the dial failed") }
      }
      let incoming = scene.owners[1].incoming
      incoming.hasReceived = {
        guard incoming.received.count == bytes.count, scene.processes.allSatisfy({ $0.count == 2 }) else { return }
        scene.stop()
      }
      // The second process has begun by then.
      scene.reactor.schedule(after: .seconds(1)) {
        #expect(scene.processes.map(\.count) == [2, 2])
        scene.stop()
      }
    }
    #expect(scene.owners[1].incoming.received == bytes && caller.ends.isEmpty)
    #expect(scene.owners[1].incoming.remoteKeys == [scene.keys[0].publicKey])
    // The host is announced by each, and stays found.
    #expect(scene.processes[0].commands.filter { $0 == .serve(scene.host(0), adapter: nil) }.count == 2)
    #expect(!scene.owners[0].events.contains { if case .gone = $0 { true } else { false } })
  }

  @Test func `A host that answers no more is gone, and a dial of it fails`() throws {
    let scene = try Scene()
    var hasFailed = false
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await(Owner.isSeen) {
        scene.isNear = false
        guard case .seen(_, let host, let addresses)? = scene.owners[0].events.last else { return }
        _ = scene.media[0].dial(host, at: addresses, for: Recorder()) { hasFailed = true }
        scene.await({ if case .gone = $0 { true } else { false } }) { scene.stop() }
      }
    }
    #expect(hasFailed)
  }

  @Test func `Without a process there is an outage with a cure, until there is one`() throws {
    let scene = try Scene()
    scene.processes[0].isMissing = true
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await({ $0 == .trouble(Trouble(cause: "There is none.", cure: "Make one.")) }) {
        #expect(scene.media[0].standing(ofSearchFor: Self.type) != .active)
        scene.processes[0].isMissing = false
        scene.await({ $0 == .trouble(nil) }) {
          #expect(scene.media[0].standing(ofSearchFor: Self.type) == .active)
          scene.stop()
        }
      }
    }
  }

  @Test func `Each fault of the adapters has its cause and its cure`() throws {
    let scene = try Scene()
    let texts = BluetoothState.Fault.allCases.compactMap { BluetoothState(fault: $0).trouble }
    #expect(Set(texts).count == texts.count && texts.allSatisfy { !$0.cause.isEmpty && $0.cure.hasSuffix(".") })
    scene.run {
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        scene.processes[0].send(.state(BluetoothState(addresses: [BluetoothAddress(0xA)], fault: .isNotDiscoverable)))
        scene.processes[0].send(.state(BluetoothState(fault: .isBlocked)))
        scene.await({ $0 == .trouble(BluetoothState(fault: .isBlocked).trouble) }) {
          #expect(scene.media[0].addresses.isEmpty)
          scene.stop()
        }
      }
    }
  }

  /// Packets that break a rule: bytes, whether a descriptor goes with them, and how often.
  private static let lies: [(bytes: [UInt8], hasDescriptor: Bool, count: Int)] = [
    ([0xFF, 1, 2], false, 1), ([], true, 1), ([UInt8](repeating: 1, count: 4_096), false, 1),
    (BluetoothReport.accepted(BluetoothAddress(1), at: BluetoothAddress(0xA)).bytes, false, 1),
    (BluetoothReport.inquired(succeeded: true).bytes, true, 1),
    (BluetoothReport.seen(BluetoothAddress(1), deviceClass: 0, at: [BluetoothAddress(0xA)]).bytes, false, 100),
  ]

  @Test(arguments: lies.indices) func `A process that lies is replaced, and links that stand go on`(_ lie: Int) throws {
    let (lie, scene, caller) = (Self.lies[lie], try Scene(), Recorder())
    let pair = try Descriptor.pair()
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await(Owner.isSeen) {
        guard case .seen(_, let host, let addresses)? = scene.owners[0].events.last else { return }
        caller.opened = { link in
          // As much as the socket holds, until another process is there.
          func repeatLie() {
            guard scene.processes[0].count == 1 else {
              caller.toSend = [1, 2, 3]
              return link.wantsToSend()
            }
            for _ in 0..<lie.count {
              scene.processes[0].send(lie.bytes, passing: lie.hasDescriptor ? pair.theirs.number : nil)
            }
            scene.reactor.schedule(after: .milliseconds(1)) { repeatLie() }
          }
          repeatLie()
        }
        _ = scene.media[0].dial(host, at: addresses, for: caller) { Issue.record("the dial failed") }
      }
      scene.owners[1].incoming.hasReceived = {
        if scene.owners[1].incoming.received == [1, 2, 3] { scene.stop() }
      }
    }
    #expect(scene.owners[1].incoming.received == [1, 2, 3] && caller.ends.isEmpty && scene.processes[0].count == 2)
  }

  @Test func `Descriptors that are no sockets, or of nobody, open no link`() throws {
    let scene = try Scene()
    let stranger = try Descriptor.pair()
    let packets = try Descriptor.packetPair()
    let file = open("/dev/null", O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var failures = 0
    scene.run {
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        let process = scene.processes[0]
        for number in [file, packets.ours.number, stranger.ours.number] {
          process.send(.accepted(BluetoothAddress(9), at: BluetoothAddress(0xA)), passing: number)
        }
        process.send(.connected(ticket: 99), passing: stranger.ours.number)
        process.send(.failed(ticket: 98, code: 1))
        process.act = { process, command in
          if case .connect(let ticket, _, _, _) = command { process.send(.connected(ticket: ticket), passing: file) }
        }
        guard let address = try? Address(text: "rfcomm:00000000000b") else { return }
        _ = scene.media[0].dial(scene.host(1), at: [address], for: Recorder()) {
          failures += 1
          scene.stop()
        }
      }
    }
    #expect(failures == 1 && scene.processes[0].count == 1 && scene.owners[0].incoming.remoteKeys.isEmpty)
  }

  @Test func `A dial fails at once where the process is killed under it, and the next process connects`() throws {
    let scene = try Scene()
    let (process, honest) = (scene.processes[0], scene.processes[0].act)
    let stranger = try Descriptor.pair()
    let caller = Recorder()
    var failures: [UInt64] = []
    scene.run {
      process.act = { process, command in
        if case .connect(let ticket, _, _, _) = command {
          if ticket == 1 { return process.kill() }
          // The answer to the killed one's command, and the same twice.
          process.send(.connected(ticket: 1), passing: stranger.ours.number)
          process.send(.failed(ticket: 1, code: 5))
        }
        honest(process, command)
      }
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        guard let address = try? Address(text: "rfcomm:00000000000b") else { return }
        let start = Reactor.now
        func dial() {
          _ = scene.media[0].dial(scene.host(1), at: [address], for: caller) {
            failures.append(Reactor.now - start)
            // Until the next process is there.
            scene.reactor.schedule(after: .milliseconds(100)) { dial() }
          }
        }
        caller.opened = { _ in scene.stop() }
        dial()
      }
    }
    // The time of a dial is 15 seconds.
    #expect(!failures.isEmpty && failures.count < 30 && failures[0] < 5_000_000_000)
    #expect(caller.remoteKeys == [scene.keys[1].publicKey] && process.count == 2)
  }

  @Test func `Three hundred devices that connect and say nothing end no link, and keep out nobody`() throws {
    final class Silent {
      let end: Descriptor
      init(_ end: consuming Descriptor) { self.end = end }
    }
    let (scene, caller, late) = (try Scene(), Recorder(), Recorder())
    var silent: [Silent] = []
    scene.run {
      scene.make()
      scene.media[0].browse(for: Self.type)
      scene.await(Owner.isSeen) {
        guard case .seen(_, let host, let addresses)? = scene.owners[0].events.last else { return }
        func crowd(_ link: SecureLink) {
          guard silent.count < 300 else {
            caller.toSend = [1, 2, 3]
            return link.wantsToSend()
          }
          for _ in 0..<20 {
            guard let pair = try? Descriptor.pair(), let end = try? pair.theirs.duplicate() else { return }
            silent.append(Silent(end))
            let device = BluetoothAddress(0x1000 + UInt64(silent.count))
            scene.processes[0].send(.accepted(device, at: BluetoothAddress(0xA)), passing: pair.ours.number)
          }
          scene.reactor.schedule(after: .milliseconds(5)) { crowd(link) }
        }
        caller.opened = { crowd($0) }
        _ = scene.media[0].dial(host, at: addresses, for: caller) { Issue.record("the dial failed") }
      }
      late.opened = { _ in scene.stop() }
      scene.owners[1].incoming.hasReceived = {
        guard scene.owners[1].incoming.received == [1, 2, 3] else { return }
        _ = scene.media[1].dial(scene.host(0), at: scene.media[0].addresses, for: late) {
          Issue.record("the late dial failed")
        }
      }
    }
    #expect(silent.count == 300 && caller.ends.isEmpty && scene.processes[0].count == 1)
    #expect(late.remoteKeys == [scene.keys[0].publicKey])
  }

  @Test func `A process that makes the socket of a link wait again holds up nobody`() throws {
    let scene = try Scene()
    let pair = try Descriptor.pair()
    // A call that waits for the socket would do so for three seconds.
    var time = [3, 0]
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      #expect(setsockopt(pair.ours.number, SOL_SOCKET, option, &time, 16) == 0)
    }
    var delay: UInt64 = 0
    scene.run {
      scene.make()
      scene.await({ $0 == .trouble(nil) }) {
        scene.processes[0].send(.accepted(BluetoothAddress(9), at: BluetoothAddress(0xA)), passing: pair.ours.number)
        scene.reactor.schedule(after: .milliseconds(100)) {
          #expect(fcntl(pair.ours.number, F_SETFL, O_RDWR) == 0)
          // The first byte of a handshake, of which the rest does not come.
          #expect(send(pair.theirs.number, [22], 1, 0) == 1)
          let due = Reactor.now + 100_000_000
          scene.reactor.schedule(after: .milliseconds(100)) {
            delay = Reactor.now - due
            scene.stop()
          }
        }
      }
    }
    #expect(delay < 2_000_000_000)
  }
}
