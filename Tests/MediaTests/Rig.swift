import Media
import Reactor
import Testing
import Wire

/// One loop with a listening host, on which tests dial it; all of it runs inside `run()`, on the test's own thread.
final class Rig {
  let reactor: Reactor
  let hostKey = SigningKey()
  let guestKey = SigningKey()
  private(set) lazy var hostContext = LinkContext(key: hostKey)
  private(set) lazy var guestContext = LinkContext(key: guestKey)
  var limits = SecureLink.Limits()
  private(set) var listener: Listener?
  private var links: [SecureLink] = []

  init() throws { reactor = try Reactor() }

  /// Each accepted connection is the owner's.
  func listen(for owner: any SecureLinkOwner) throws {
    listener = try Listener(at: .loopback(port: 0), on: reactor) { [unowned self] socket in
      do {
        links.append(try .accept(socket, hostContext, on: reactor, limits: limits, owner: owner))
      } catch {
        Issue.record(error)
      }
    }
  }

  @discardableResult
  func dial(
    _ owner: any SecureLinkOwner, at address: SocketAddress? = nil, resuming host: HostID? = nil,
    closingTime: Duration? = nil
  ) throws -> SecureLink {
    let address = try #require(address ?? listener?.address)
    var limits = SecureLink.Limits()
    limits.closingTime = closingTime ?? limits.closingTime
    let link = try SecureLink.dial(address, guestContext, resuming: host, on: reactor, limits: limits, owner: owner)
    links.append(link)
    return link
  }

  /// Runs until something stops the loop; a timeout is a failure.
  func run() {
    reactor.schedule(after: .seconds(60)) { [reactor] in
      Issue.record("the test hangs")
      reactor.stop()
    }
    reactor.run()
    links = []
    listener = nil
  }
}

/// Takes every byte, sends the given ones, and records its events.
final class Recorder: SecureLinkOwner {
  var remoteKeys: [PublicKey] = []
  var exporters: [Digest] = []
  var received: [UInt8] = []
  var ends: [LinkEnd] = []
  var toSend: [UInt8] = []
  /// Whether it reads.
  var reads = true
  var opened: (SecureLink) -> Void = { _ in }
  var hasReceived: () -> Void = {}
  var closed: () -> Void = {}

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    remoteKeys.append(remoteKey)
    exporters.append(exporter)
    if !toSend.isEmpty { link.wantsToSend() }
    opened(link)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    if reads { received.append(upTo: bytesMax, read) }
    hasReceived()
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    let count = min(output.freeCapacity, toSend.count)
    for byte in toSend.prefix(count) { output.append(byte, as: UInt8.self) }
    toSend.removeFirst(count)
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {
    ends.append(end)
    closed()
  }
}

extension [UInt8] {
  /// Appends the output of `read`, and returns its size.
  @discardableResult
  mutating func append(upTo bytesMax: Int, _ read: (inout OutputRawSpan) -> Void) -> Int {
    let before = count
    self += [UInt8](unsafeUninitializedCapacity: bytesMax) { memory, count in
      let memory = UnsafeMutableRawBufferPointer(memory)
      var out = OutputRawSpan(buffer: memory, initializedCount: 0)
      read(&out)
      count = out.finalize(for: memory)
    }
    return count - before
  }
}
