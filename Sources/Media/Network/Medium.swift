internal import Engine
internal import Reactor
internal import Wire

/// A medium of a host: a way to announce its peers, to find those of others, and to open links to their hosts.
///
/// It belongs to its reactor's thread. What it reports comes on the loop, and never from within a call of it.
protocol Medium: AnyObject {
  /// Its number for the engine.
  var id: MediumID { get }
  /// Whether the address is one of this medium.
  func owns(_ address: Address) -> Bool
  /// The addresses of this host for others, the best first.
  var addresses: [Address] { get }

  /// Announces a record, or changes the one of the same key that is announced.
  func publish(_ announcement: Announcement, as type: ServiceType)
  func withdraw(_ key: ServiceRecord.Key)
  /// Reports the records of a type from now on.
  func browse(for type: ServiceType)
  func stopBrowsing(for type: ServiceType)
  /// Whether the record is announced, and the type browsed; nil where it is not known yet.
  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding?
  func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding?
  /// Asks whether the host of a record is there. An answer is reported, a missing one is not.
  func probe(_ record: SeenID)

  /// Opens a link to the host by the address that answers first. The owner gets `opened` and all later events of that
  /// link, or `failed` is called.
  func dial(
    _ host: HostID, at addresses: [Address], for owner: any SecureLinkOwner, failed: @escaping () -> Void
  ) -> any MediumDial
  /// Opens the path of an open link's datagrams; nil on a medium that has none.
  func datagrams(of link: SecureLink, for owner: any DatagramPathOwner) -> DatagramPath?
  /// The circuit over which the owner's link goes; nil on a medium that has none.
  func circuit(of owner: any SecureLinkOwner) -> CircuitID?

  /// Withdraws everything, and takes no more links; open ones stay. Nothing is reported any more.
  func close()
}

extension Medium {
  func circuit(of owner: any SecureLinkOwner) -> CircuitID? { nil }
}

/// One dial over one medium, which takes more addresses while it lasts.
protocol MediumDial: AnyObject {
  func join(_ addresses: [Address])
  /// Ends it without a report.
  func cancel()
}

/// The reports of a medium to its host.
protocol MediumOwner: AnyObject {
  /// A record of another host appeared or changed.
  func seen(_ id: SeenID, _ announcement: Announcement, as type: ServiceType, at addresses: [Address], by: any Medium)
  func gone(_ id: SeenID, by medium: any Medium)
  /// The host of a probed record is there.
  func answered(_ id: SeenID, by medium: any Medium)
  /// Another host seems to be there that has this one's key; a link proves it.
  func suspectsTwin(at address: Address, by medium: any Medium)
  /// The owner of a link that comes in.
  func linkOwner(over medium: any Medium) -> any SecureLinkOwner
  /// The medium is gone: its links end at once.
  func cut(over medium: any Medium)
  func addressesChanged(of medium: any Medium)
  /// Nil for a medium that works.
  func outageChanged(to trouble: Trouble?, of medium: any Medium)
  /// The standing of a type's records and browsers may have changed, or of all.
  func standingChanged(of type: ServiceType?)
}
