internal import Reactor
internal import Wire

/// One dial of a host at its places in a folder, one after another.
///
/// Invariant: as for a `Dialer`, the owner gets `opened` of one link that is open to the expected host, or `failed` is
/// called, and neither after `cancel`.
final class FolderDial: MediumDial, SecureLinkOwner {
  /// For the whole dial.
  private static let timeMax: Duration = .seconds(10)
  /// A host has one place; more are of starts that have ended, or of strangers.
  private static let placesMax = 8

  private let reactor: Reactor
  private let context: LinkContext
  private let expected: HostID
  private let connect: (FolderDial, UInt32) -> Void
  private let nonce: (Address) -> UInt32?
  private let failed: () -> Void
  private var owner: (any SecureLinkOwner)?
  private var waiting: ArraySlice<UInt32>
  private var tried: Set<UInt32> = []
  private var isConnecting = false
  private var link: SecureLink?
  private var deadline: Timer?

  init(
    of host: HostID, at places: [UInt32], _ context: LinkContext, on reactor: Reactor, owner: any SecureLinkOwner,
    connect: @escaping (FolderDial, UInt32) -> Void, nonce: @escaping (Address) -> UInt32?,
    failed: @escaping () -> Void
  ) {
    self.reactor = reactor
    self.context = context
    expected = host
    self.owner = owner
    self.connect = connect
    self.nonce = nonce
    self.failed = failed
    waiting = places[...]
    deadline = reactor.schedule(after: Self.timeMax) { [self] in fail() }
    reactor.soon { [self] in startNext() }
  }

  func join(_ addresses: [Address]) { waiting += addresses.compactMap(nonce) }

  func cancel() { end()?.close() }

  private func startNext() {
    guard owner != nil, !isConnecting, link == nil else { return }
    while let place = waiting.popFirst() {
      guard tried.count < Self.placesMax, tried.insert(place).inserted else { continue }
      isConnecting = true
      return connect(self, place)
    }
    fail()
  }

  func connected(_ socket: consuming Descriptor?) {
    isConnecting = false
    guard owner != nil else { return }
    if let socket {
      do throws(SystemError) {
        link = try .connect(over: socket, context, resuming: expected, on: reactor, owner: self)
        return
      } catch {}
    }
    startNext()
  }

  private func fail() {
    guard owner != nil else { return }
    end()?.close()
    failed()
  }

  /// Returns the attempt that was not done.
  private func end() -> SecureLink? {
    owner = nil
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
    return link.take()
  }

  // MARK: The attempt

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    guard let owner, link === self.link else { return link.close() }
    guard HostID(of: remoteKey) == expected else {
      self.link = nil
      link.close()
      return startNext()
    }
    _ = end()
    link.handOver(to: owner)
    owner.opened(link, remoteKey: remoteKey, exporter: exporter)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) {
    guard link === self.link else { return }
    self.link = nil
    startNext()
  }
}
