import BluetoothProtocol
import Glibc
import Reactor
import Testing
import Wire

@testable import Media

/// The connection with a process that says nothing, lies or is killed, by the ends that it has.
@Suite(.timeLimit(.minutes(1))) struct BluetoothProcessTests {
  private static let command = BluetoothCommand.inquire(units: 1)
  private static let report = BluetoothReport.inquired(succeeded: true)

  /// The events of a connection, and the sockets of its processes.
  private final class Scene {
    enum Event: Equatable {
      case began
      case report(BluetoothReport, hasSocket: Bool)
      case ended
      case failed
    }

    final class End {
      let socket: Descriptor
      init(_ socket: consuming Descriptor) { self.socket = socket }
    }

    let reactor: Reactor
    private(set) var events: [Event] = []
    /// The end of the latest process.
    private(set) var end: End?
    private(set) var process: BluetoothProcess?
    /// Called after each event.
    var happened: (Event) -> Void = { _ in }

    init() throws { reactor = try Reactor() }

    func run(answeringWithin time: Duration = .seconds(30)) {
      reactor.soon { [self] in
        process = BluetoothProcess(
          on: reactor, answeringWithin: time, connect: { [unowned self] () throws(Trouble) in try connect() },
          report: { [unowned self] in handle($0) })
      }
      reactor.schedule(after: .seconds(20)) { [unowned self] in
        Issue.record("the test hangs")
        stop()
      }
      reactor.run()
    }

    func stop() {
      process?.close()
      process = nil
      reactor.stop()
    }

    private func connect() throws(Trouble) -> Descriptor {
      do {
        let pair = try Descriptor.packetPair()
        end = End(try pair.theirs.duplicate())
        return try pair.ours.duplicate()
      } catch {
        throw Trouble(cause: "\(error)", cure: "")
      }
    }

    private func handle(_ event: BluetoothProcess.Event) {
      let one: Event =
        switch event {
        case .began: .began
        case .report(let report, let box): .report(report, hasSocket: box?.take() != nil)
        case .ended: .ended
        case .failed: .failed
        }
      events.append(one)
      happened(one)
    }

    func count(_ event: Event) -> Int { events.count { $0 == event } }

    func kill() { end = nil }
  }

  @Test func `A process that takes commands and says nothing is replaced, and one that answers stays`() throws {
    let scene = try Scene()
    scene.happened = { event in
      switch event {
      case .began where scene.count(.began) == 2:
        scene.process?.send(BluetoothProcessTests.command)
        try? scene.end?.socket.sendPacket(BluetoothProcessTests.report.bytes)
        scene.reactor.schedule(after: .milliseconds(500)) { scene.stop() }
      case .began: scene.process?.send(BluetoothProcessTests.command)
      default: break
      }
    }
    scene.run(answeringWithin: .milliseconds(100))
    #expect(scene.events == [.began, .failed, .began, .report(Self.report, hasSocket: false)])
  }

  @Test func `A process of which nothing was asked may be silent`() throws {
    let scene = try Scene()
    scene.happened = { event in
      scene.process?.send(.cancel(ticket: 1))
      if event == .began { scene.reactor.schedule(after: .milliseconds(300)) { scene.stop() } }
    }
    scene.run(answeringWithin: .milliseconds(100))
    #expect(scene.events == [.began])
  }

  @Test func `A flood of reports ends one process, and is not counted against the next`() throws {
    let scene = try Scene()
    func flood(_ count: Int) {
      guard scene.count(.began) == 1 else { return }
      // As much as the socket holds at a time.
      for _ in 0..<100 { try? scene.end?.socket.sendPacket(Self.report.bytes) }
      if count > 0 { scene.reactor.schedule(after: .zero) { flood(count - 1) } }
    }
    scene.happened = { event in
      guard event == .began else { return }
      if scene.count(.began) == 1 { return flood(100) }
      try? scene.end?.socket.sendPacket(
        BluetoothReport.accepted(BluetoothAddress(1), at: BluetoothAddress(2)).bytes, passing: 2)
      // Longer than the pause before a third.
      scene.reactor.schedule(after: .seconds(1)) { scene.stop() }
    }
    scene.run()
    #expect(scene.count(.began) == 2 && scene.count(.failed) == 1)
    #expect(scene.events.last == .report(.accepted(BluetoothAddress(1), at: BluetoothAddress(2)), hasSocket: true))
    #expect(scene.count(.report(Self.report, hasSocket: false)) <= 1_000)
  }

  @Test func `A report with two descriptors or many ends the process, and none of them stays open`() throws {
    for count in [2, 3, 200] {
      var ends: [CInt] = [-1, -1]
      try #require(pipe(&ends) == 0)
      let (reader, writer) = (ends[0], ends[1])
      try #require(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
      let scene = try Scene()
      scene.happened = { event in
        switch event {
        case .began:
          guard let end = scene.end else { return }
          let bytes = BluetoothReport.accepted(BluetoothAddress(1), at: BluetoothAddress(2)).bytes
          Self.send(bytes, with: [CInt](repeating: writer, count: count), over: end.socket.number)
          close(writer)
        default:
          // Once the turn is over, its end is there to be read: nobody can write.
          scene.reactor.schedule(after: .milliseconds(10)) {
            var byte: UInt8 = 0
            #expect(read(reader, &byte, 1) == 0, "\(count)")
            scene.stop()
          }
        }
      }
      scene.run()
      close(reader)
      #expect(scene.events == [.began, .failed])
    }
  }

  private static func send(_ bytes: [UInt8], with descriptors: [CInt], over socket: CInt) {
    var control = [UInt64](repeating: 0, count: 2 + (descriptors.count + 1) / 2)
    control[0] = UInt64(16 + 4 * descriptors.count)
    control[1] = UInt64(UInt32(bitPattern: SOL_SOCKET)) | UInt64(SCM_RIGHTS) << 32
    control[2...].withUnsafeMutableBytes { room in
      descriptors.withUnsafeBytes { room.copyMemory(from: $0) }
    }
    let sent = bytes.withUnsafeBytes { bytes in
      control.withUnsafeMutableBytes { control in
        var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          (message.msg_iov, message.msg_iovlen) = (part, 1)
          (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
          return sendmsg(socket, &message, CInt(MSG_NOSIGNAL))
        }
      }
    }
    #expect(sent == bytes.count)
  }

  @Test func `A process that is killed again and again is started after pauses that double`() throws {
    let scene = try Scene()
    var starts: [UInt64] = []
    scene.happened = { event in
      guard event == .began else { return }
      starts.append(Reactor.now)
      if starts.count == 4 { return scene.stop() }
      scene.kill()
    }
    scene.run()
    #expect(scene.events == [.began, .ended, .began, .ended, .began, .ended, .began])
    let pauses = zip(starts, starts.dropFirst()).map { $1 - $0 }
    for (pause, least) in zip(pauses, [250, 500, 1_000] as [UInt64]) { #expect(pause >= least * 1_000_000) }
  }
}
