public import Reactor
internal import Wire

/// Where connections wait that have come and have not shown yet whose they are.
///
/// Laws:
/// - There are at most `linksMax`, and of one address at most `linksPerAddressMax`. Where one more comes, the one that
///   has waited longest goes, of that address or of all: so who comes always has a place, and has it for as long as an
///   honest handshake takes unless thousands come in that time.
/// - One that says nothing costs about 18 KiB, one that says all that it may about 210 KiB: 56 MiB in all, at worst.
///   Each is over at its handshake's deadline.
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
  /// In the order they came.
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

  /// Takes a connection that a listener accepted, for an owner who hears of it as of any other link.
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

  /// Ends all that wait.
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
