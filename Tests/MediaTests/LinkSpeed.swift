import Glibc
import Media
import Reactor
import Testing
import Wire

/// Figures rather than proofs: `MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter LinkSpeed`.
@Suite(.enabled(if: getenv("MEASURE") != nil), .serialized) struct LinkSpeed {
  private static let total = 4 << 30

  @Test func `one way over one link, both ends on one loop`() throws {
    let rig = try Rig()
    let sink = Sink(Self.total) { rig.reactor.stop() }
    try rig.listen(for: sink)
    try rig.dial(Source(Self.total))
    rig.run()
    sink.report("one loop")
  }

  @Test func `one way over one link, each end on a loop of its own`() throws {
    let far = try Reactor()
    let rig = try Rig()
    let sink = Sink(Self.total) {
      far.stop()
      rig.reactor.stop()
    }
    try rig.listen(for: sink)
    let address = try #require(rig.listener).address
    Foreigner.onThread {
      // A measurement that cannot begin has nothing to go on to.
      let link = try! SecureLink.dial(address, LinkContext(key: SigningKey()), on: far, owner: Source(Self.total))
      far.run()
      withExtendedLifetime(link) {}
    }
    rig.run()
    sink.report("two loops")
  }

  @Test(arguments: [false, true]) func `handshakes, full and resumed, both ends on one loop`(_ resumes: Bool) throws {
    let times = 2_000
    let rig = try Rig()
    try rig.listen(for: ByteSender())
    var before = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
    let visitor = RepeatingClient(rig, times: times, resumes: resumes)
    rig.reactor.soon { visitor.visit() }
    rig.run()
    var after = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
    let spent = Double(after.tv_sec - before.tv_sec) * 1e6 + Double(after.tv_nsec - before.tv_nsec) * 1e-3
    print("\(resumes ? "resumed" : "full"): \(spent / Double(times)) µs of processor time for both ends")
  }
}

/// Meets the host again and again, each time once its first byte has come.
private final class RepeatingClient: SecureLinkOwner {
  private let rig: Rig
  private let resumes: Bool
  private var left: Int

  init(_ rig: Rig, times: Int, resumes: Bool) {
    self.rig = rig
    self.resumes = resumes
    left = times
  }

  func visit() {
    left -= 1
    if left < 0 { return rig.reactor.stop() }
    // A failed measurement has no result.
    try! rig.dial(self, resuming: resumes ? HostID(of: rig.hostKey.publicKey) : nil)
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {}

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    var bytes: [UInt8] = []
    if bytes.append(upTo: bytesMax, read) > 0 { link.close() }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) { visit() }
}

/// Sends one byte to every link.
private final class ByteSender: SecureLinkOwner {
  private var unsaid = 0

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    unsaid = 1
    link.wantsToSend()
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    output.append(repeating: 1, count: unsaid, as: UInt8.self)
    unsaid = 0
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {}
}

/// Sends zeros without a pause.
private final class Source: SecureLinkOwner {
  private var left: Int

  init(_ total: Int) { left = total }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) { link.wantsToSend() }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    let count = min(left, output.freeCapacity)
    output.append(repeating: 0, count: count, as: UInt8.self)
    left -= count
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {}
}

/// Takes it all, and looks at the clock.
private final class Sink: SecureLinkOwner {
  private let total: Int
  private let done: () -> Void
  private var received = 0
  private var start: UInt64 = 0
  private var end: UInt64 = 0
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init(_ total: Int, done: @escaping () -> Void) {
    self.total = total
    self.done = done
  }

  deinit {
    memory.deallocate()
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) { start = Reactor.now }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    let room = UnsafeMutableRawBufferPointer(rebasing: memory[..<bytesMax])
    var out = OutputRawSpan(buffer: room, initializedCount: 0)
    read(&out)
    received += out.finalize(for: room)
    if received == total {
      end = Reactor.now
      done()
    }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) {}

  func report(_ name: String) {
    print("\(name): \(Double(received) / Double(end - start)) GB/s")
  }
}
