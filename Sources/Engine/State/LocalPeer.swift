import Wire

/// A peer that this host carries.
final class LocalPeer {
  let id: PeerID
  let key: PublicKey
  var name: DisplayName
  /// The statement that this host carries it, which is signed when it is first sent: a host may carry thousands.
  private(set) lazy var carrier = signCarrier()
  private let signCarrier: () -> Carrier
  var advertised = OrderedDictionary<ServiceType, DiscoveryInfo>()
  /// The part of it that its program advertises itself, whatever its sessions in ad hoc mode do.
  var advertisedByHand = OrderedDictionary<ServiceType, DiscoveryInfo>()
  var browsed = OrderedDictionary<ServiceType, Bool>()
  /// Its own ends of sessions, in the order in which they were opened.
  var endpoints: [EndpointID] = []
  /// The advertising of each of them that is in ad hoc mode.
  var adhocModes: [AdhocMode] = []
  /// Since when its program is away; nil while it is present.
  var awaySince: Instant?
  /// Sessions of others whose invitations its person declined or let run out.
  var refusals = Refusals<EndpointID>() { didSet { dirty.touch(peer: id) } }
  private let dirty: DirtySet

  init(id: PeerID, key: PublicKey, name: DisplayName, dirty: DirtySet, signCarrier: @escaping () -> Carrier) {
    self.dirty = dirty
    self.id = id
    self.key = key
    self.name = name
    self.signCarrier = signCarrier
  }
}

/// The advertising of an end of a session that is in ad hoc mode.
struct AdhocMode {
  let endpoint: EndpointID
  let type: ServiceType
  var info: DiscoveryInfo
}
