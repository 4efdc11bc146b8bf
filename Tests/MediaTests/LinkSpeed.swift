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
