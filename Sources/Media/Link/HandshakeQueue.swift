public import Reactor
internal import Wire

/// A queue of TLS handshakes that have not finished.
///
/// Invariants:
/// - It holds at most `linksMax`, and of one address at most `linksPerAddressMax`. One more evicts the oldest, of that
///   address or of all: so a newcomer always has a place, and keeps it for as long as an honest handshake takes unless
///   thousands come in that time.
/// - A silent one costs about 18 KiB, one that sends as much as it may about 210 KiB: 56 MiB in all, at worst. Each
///   ends at its handshake's deadline.
///
/// It belongs to its reactor's thread.
public final class HandshakeQueue {
  public struct Limits: Sendable {
    /// A session of 256 hosts may come all at once, after a power cut.
    public var linksMax = 256
    /// Several hosts may be behind one address; four addresses at least must be taken to fill the room.
    public var linksPerAddressMax = 64
    public init() {}
  }

  private let context: LinkContext
  private let reactor: Reactor
  private let limits: Limits
  private let linkLimits: SecureLink.Limits
  /// In the order of arrival.
  private var waiting: [(link: SecureLink, origin: AddressGroup?)] = []

  public init(
    _ context: LinkContext, on reactor: Reactor, limits: Limits = Limits(),
    linkLimits: SecureLink.Limits = SecureLink.Limits()
  ) {
    self.context = context
    self.reactor = reactor
    self.limits = limits
    self.linkLimits = linkLimits
  }

  public var count: Int { waiting.count }

  /// Takes a connection from a listener, for an owner that gets its events as of any other link.
  public func take(_ socket: consuming Descriptor, for owner: any SecureLinkOwner) throws(SystemError) {
    let link = try SecureLink.accept(socket, context, on: reactor, limits: linkLimits, owner: owner)
    let origin = link.remoteAddress.map(AddressGroup.init)
    link.handshakeEnded = { [weak self] in self?.leave($0) }
    let ofOrigin = waiting.lazy.filter { $0.origin == origin }
    if ofOrigin.count >= limits.linksPerAddressMax {
      expel(ofOrigin.first?.link)
    } else if waiting.count >= limits.linksMax {
      expel(waiting.first?.link)
    }
    waiting.append((link, origin))
  }

  public func close() {
    for (link, _) in waiting { link.close() }
  }

  private func expel(_ link: SecureLink?) {
    guard let link else { return }
    leave(link)
    reactor.soon { link.makeRoom() }
  }

  private func leave(_ link: SecureLink) {
    waiting.removeAll { $0.link === link }
  }
}
