public import Wire

/// A link to another host, as this host uses it.
public struct LinkState: Hashable, Sendable {
  public let id: LinkID
  public let host: HostID
  /// The name of its medium.
  public let medium: String
  /// Whether it is kept beside the link in use.
  public let isStandby: Bool
}

extension Engine {
  /// The links to other hosts that are in use, and those that are kept beside them.
  public var openLinks: [LinkState] {
    links.values.compactMap { link in
      guard !link.isLoopback, !link.isClosing, link.isStandby || link.host.bond?.link === link else { return nil }
      return LinkState(id: link.id, host: link.host.id, medium: link.profile.name, isStandby: link.isStandby)
    }
  }
}
