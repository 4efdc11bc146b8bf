import Wire

/// A peer that this host carries.
final class LocalPeer {
  let id: PeerID
  let key: PublicKey
  var name: DisplayName
  let carrier: Carrier
  var advertised = OrderedDictionary<ServiceType, DiscoveryInfo>()
  var browsed = OrderedDictionary<ServiceType, Bool>()
  /// Its own ends of sessions, in the order in which they were opened.
  var endpoints: [EndpointID] = []
  /// Since when its program is away; nil while it is present.
  var awaySince: Instant?
  /// Sessions of others whose invitations its person declined or let run out.
  var refusals = Refusals<EndpointID>() { didSet { dirty.touch(peer: id) } }
  private let dirty: DirtySet

  init(id: PeerID, key: PublicKey, name: DisplayName, carrier: Carrier, dirty: DirtySet) {
    self.dirty = dirty
    self.id = id
    self.key = key
    self.name = name
    self.carrier = carrier
  }
}
