internal import Reactor
internal import Wire

/// One dial of a host at its places on a medium that connects sockets elsewhere, on another thread or in another process; one place
/// after another.
///
/// Invariant: as for a `Dialer`, the owner gets `opened` of one link that is open to the expected host, or `failed` is
/// called, and neither after `cancel`.
final class PlaceDial<Place: Hashable>: MediumDial, SecureLinkOwner {
  /// A host has few places; more are of starts that have ended, or of strangers.
  private static var placesMax: Int { 8 }

  private let reactor: Reactor
  private let context: LinkContext
  private let expected: HostID
  private let limits: SecureLink.Limits
  private let connect: (PlaceDial, Place) -> Void
  private let joining: (Address) -> [Place]
  private let failed: () -> Void
  private var owner: (any SecureLinkOwner)?
  private var waiting: ArraySlice<Place>
  private var tried: Set<Place> = []
  private var isConnecting = false
  private var link: SecureLink?
  private var deadline: Timer?

  /// The time is for the whole dial. `connect` is answered by `connected`; `joining` gives the places of an address that joins it.
  init(
    of host: HostID, at places: [Place], within time: Duration, _ context: LinkContext,
    limits: SecureLink.Limits = SecureLink.Limits(), on reactor: Reactor, owner: any SecureLinkOwner,
    connect: @escaping (PlaceDial, Place) -> Void, joining: @escaping (Address) -> [Place], failed: @escaping () -> Void
  ) {
    self.reactor = reactor
    self.context = context
    self.limits = limits
    expected = host
    self.owner = owner
    self.connect = connect
    self.joining = joining
    self.failed = failed
    waiting = places[...]
    deadline = reactor.schedule(after: time) { [self] in fail() }
    reactor.soon { [self] in startNext() }
  }

  func join(_ addresses: [Address]) { waiting += addresses.flatMap(joining) }

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
        link = try .connect(
          over: socket, context, resuming: expected, on: reactor, limits: limits, owner: self)
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
