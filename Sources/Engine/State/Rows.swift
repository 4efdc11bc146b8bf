import Wire

// The rows of a durable host, one for each thing that lasts. Rows are for this engine alone: their layout may change
// with its version, which is the first byte of every key.

enum RowKey: Hashable {
  case endpoint(EndpointID)
  case group(Int)
  case member(Int, EndpointID)
  case bond(HostID)
  case record(HostID, UInt64)
  case presence(Int, HostID)
  case resource(ResourceID)
  case chain(Int, EndpointID)
  case refusals(PeerID)
  case cohort(Int, UInt64)

  private static let version: UInt8 = 1

  var bytes: [UInt8] {
    var sink = ArraySink([Self.version])
    switch self {
    case .endpoint(let id):
      sink.put(u8: 1)
      id.encode(into: &sink)
    case .group(let serial):
      sink.put(u8: 2)
      sink.put(u64: UInt64(serial))
    case .member(let serial, let id):
      sink.put(u8: 3)
      sink.put(u64: UInt64(serial))
      id.encode(into: &sink)
    case .bond(let host):
      sink.put(u8: 4)
      host.encode(into: &sink)
    case .record(let host, let ordinal):
      sink.put(u8: 5)
      host.encode(into: &sink)
      sink.put(u64: ordinal)
    case .presence(let serial, let host):
      sink.put(u8: 6)
      sink.put(u64: UInt64(serial))
      host.encode(into: &sink)
    case .resource(let id):
      sink.put(u8: 7)
      sink.put(u64: id.rawValue)
    case .chain(let serial, let id):
      sink.put(u8: 8)
      sink.put(u64: UInt64(serial))
      id.encode(into: &sink)
    case .refusals(let id):
      sink.put(u8: 9)
      id.encode(into: &sink)
    case .cohort(let serial, let number):
      sink.put(u8: 10)
      sink.put(u64: UInt64(serial))
      sink.put(u64: number)
    }
    return sink.bytes
  }

  init?(bytes: [UInt8]) {
    // A UInt8 has no padding to show.
    var reader = Reader(unsafe bytes.span.bytes)
    do throws(WireError) {
      guard try reader.u8() == Self.version else { return nil }
      switch try reader.u8() {
      case 1: self = .endpoint(try EndpointID(from: &reader))
      case 2: self = .group(try reader.serial())
      case 3: self = .member(try reader.serial(), try EndpointID(from: &reader))
      case 4: self = .bond(try HostID(from: &reader))
      case 5: self = .record(try HostID(from: &reader), try reader.u64())
      case 6: self = .presence(try reader.serial(), try HostID(from: &reader))
      case 7: self = .resource(ResourceID(rawValue: UInt64(try reader.serial())))
      case 8: self = .chain(try reader.serial(), try EndpointID(from: &reader))
      case 9: self = .refusals(try PeerID(from: &reader))
      case 10: self = .cohort(try reader.serial(), try reader.cohort())
      default: return nil
      }
      try reader.finish()
    } catch { return nil }
  }
}

/// The most that a list in a row may hold: no real list is longer, and a damaged row fails before memory is taken.
private let listMax = 1 << 20

/// The most that a number in a row may be: no host counts this far, and from here it can still count on.
private let numberMax: UInt64 = 1 << 62

extension Reader {
  /// A number that a host has counted up to.
  @_lifetime(self: copy self)
  fileprivate mutating func counted(_ field: String, from min: UInt64 = 0) throws(WireError) -> UInt64 {
    try counted(try varint(), field, from: min, through: numberMax)
  }

  /// The same in 32 bits.
  @_lifetime(self: copy self)
  fileprivate mutating func counted32(_ field: String) throws(WireError) -> UInt32 {
    UInt32(try counted(try varint(), field, from: 0, through: 1 << 30))
  }

  /// A group's number on this host.
  @_lifetime(self: copy self)
  fileprivate mutating func serial() throws(WireError) -> Int {
    Int(try counted(try u64(), "group", from: 1, through: numberMax))
  }

  /// A cohort's number in its group.
  @_lifetime(self: copy self)
  fileprivate mutating func cohort() throws(WireError) -> UInt64 {
    try counted(try u64(), "cohort", from: 1, through: numberMax)
  }

  private func counted(
    _ value: UInt64, _ field: String, from min: UInt64, through max: UInt64
  ) throws(WireError) -> UInt64 {
    guard value >= min else { throw WireError(.numberUnderLimit(field: field, value: value, min: min)) }
    guard value <= max else { throw WireError(.numberOverLimit(field: field, value: value, max: max)) }
    return value
  }
}

struct EndpointRow: Part {
  var peer: PeerID
  var settings: SessionSettings
  var incarnation: EndpointIncarnation
  var index: UInt32
  var group: UInt64
  var slot: UInt32
  var rank: UInt32
  var inviter: EndpointID
  var isLocked: Bool
  var blocked: [PeerID]
  var banned: [PeerID]
  var removed: [EndpointID]
  var refusals: RefusalsRow<PeerID>

  /// A group takes memory for each slot up to the highest; no host has so many peers in one.
  static let slotsMax: UInt32 = 1 << 16

  init(_ local: LocalEndpoint) {
    peer = local.peer.id
    settings = local.settings
    incarnation = local.incarnation
    index = local.index
    group = UInt64(local.group.serial)
    slot = UInt32(local.slot)
    rank = local.rank
    inviter = local.inviter
    isLocked = local.isLocked
    blocked = local.blocked.sorted()
    banned = local.banned.sorted()
    removed = local.removed.sorted()
    refusals = RefusalsRow(local.refusals)
  }

  init(from reader: inout Reader) throws(WireError) {
    peer = try PeerID(from: &reader)
    settings = try SessionSettings(from: &reader)
    incarnation = EndpointIncarnation(host: try Incarnation(from: &reader), count: try reader.counted32("count"))
    index = try reader.counted32("index")
    group = try reader.counted("group")
    slot = try reader.varint32("slot")
    guard slot < Self.slotsMax else {
      throw WireError(.numberOverLimit(field: "slot", value: UInt64(slot), max: UInt64(Self.slotsMax)))
    }
    rank = try reader.varint32("rank")
    inviter = try EndpointID(from: &reader)
    isLocked = try reader.bool("locked")
    blocked = try reader.list("blocked", max: listMax)
    banned = try reader.list("banned", max: listMax)
    removed = try reader.list("removed", max: listMax)
    // Rows of an earlier version end here.
    refusals = reader.atEnd ? RefusalsRow(Refusals()) : try RefusalsRow(from: &reader)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    peer.encode(into: &sink)
    settings.encode(into: &sink)
    incarnation.encode(into: &sink)
    sink.put(varint: index)
    sink.put(varint: group)
    sink.put(varint: slot)
    sink.put(varint: rank)
    inviter.encode(into: &sink)
    sink.put(bool: isLocked)
    sink.put(list: blocked, max: listMax)
    sink.put(list: banned, max: listMax)
    sink.put(list: removed, max: listMax)
    refusals.encode(into: &sink)
  }
}

struct GroupRow: Part {
  var label: GroupID
  var departed: [Departed]

  struct Departed: Part {
    var endpoint: EndpointID
    var incarnation: EndpointIncarnation

    init(endpoint: EndpointID, incarnation: EndpointIncarnation) {
      self.endpoint = endpoint
      self.incarnation = incarnation
    }

    init(from reader: inout Reader) throws(WireError) {
      endpoint = try EndpointID(from: &reader)
      incarnation = try EndpointIncarnation(from: &reader)
    }

    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      endpoint.encode(into: &sink)
      incarnation.encode(into: &sink)
    }
  }

  init(_ group: Group) {
    label = group.label
    departed = group.departed.keys.compactMap { id in
      group.departed[id].map { Departed(endpoint: id, incarnation: $0) }
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    label = try GroupID(from: &reader)
    departed = try reader.list("departed", max: listMax)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    label.encode(into: &sink)
    sink.put(list: departed, max: listMax)
  }
}

struct MemberRow: Part {
  var entry: Entry
  /// 0 where it has not joined.
  var index: UInt32
  var unsettled: [Unsettled]
  /// The number of its cohort, whose row has its state; 0 in a row of an earlier version, which has that itself.
  var cohort: UInt64
  var ownState = CohortRow()

  struct Unsettled: Part {
    var ordinal: UInt64
    var indexLast: UInt32
    var slots: SlotSet

    init(ordinal: UInt64, indexLast: UInt32, slots: SlotSet) {
      self.ordinal = ordinal
      self.indexLast = indexLast
      self.slots = slots
    }

    init(from reader: inout Reader) throws(WireError) {
      ordinal = try reader.varint()
      indexLast = try reader.varint32("index")
      slots = try SlotSet(from: &reader)
    }

    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      sink.put(varint: ordinal)
      sink.put(varint: indexLast)
      slots.encode(into: &sink)
    }
  }

  init(_ member: RemoteMember) {
    entry = member.entry
    index = member.index ?? 0
    unsettled = member.unsettled.map { Unsettled(ordinal: $0.ordinal, indexLast: $0.indexLast, slots: $0.slots) }
    cohort = member.cohort.number
  }

  init(from reader: inout Reader) throws(WireError) {
    entry = try Entry(from: &reader)
    index = try reader.varint32("index")
    ownState = try CohortRow(from: &reader)
    unsettled = try reader.list("unsettled", max: listMax)
    // Rows of an earlier version end here.
    cohort = reader.atEnd ? 0 : try reader.counted("cohort", from: 1)
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    entry.encode(into: &sink)
    sink.put(varint: index)
    ownState.encode(into: &sink)
    sink.put(list: unsettled, max: listMax)
    sink.put(varint: cohort)
  }
}

struct BondRow: Part {
  var key: PublicKey
  var incarnation: Incarnation
  var addresses: [Address]
  var nonce: UInt64
  var theirs: UInt64
  var linkOrdinal: UInt32
  var received: UInt64
  var first: UInt64
  /// The next record's ordinal: the other side has read only records before it, unless this row is from a backup.
  var next: UInt64
  var lastStrand: UInt32
  var strands: [StrandRow]
  var incoming: [IncomingRow]
  var features: Hello.Features
  /// How long the pairs outlast the loss of their link, in milliseconds; 0 where that is not known.
  var suspension: UInt32

  struct StrandRow: Part {
    var id: UInt32
    var last: UInt64
    var acknowledged: UInt64
    /// The group whose strand it is now; 0 where it is nobody's any more.
    var group: UInt64

    init(id: UInt32, last: UInt64, acknowledged: UInt64, group: UInt64) {
      self.id = id
      self.last = last
      self.acknowledged = acknowledged
      self.group = group
    }

    init(from reader: inout Reader) throws(WireError) {
      id = try reader.counted32("strand")
      last = try reader.counted("last")
      acknowledged = try reader.counted("acknowledged")
      group = try reader.counted("group")
    }

    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      sink.put(varint: id)
      sink.put(varint: last)
      sink.put(varint: acknowledged)
      sink.put(varint: group)
    }
  }

  struct IncomingRow: Part {
    var id: UInt32
    var received: UInt64
    var group: UInt64

    init(id: UInt32, received: UInt64, group: UInt64) {
      self.id = id
      self.received = received
      self.group = group
    }

    init(from reader: inout Reader) throws(WireError) {
      id = try reader.varint32("strand")
      received = try reader.counted("received")
      group = try reader.counted("group")
    }

    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      sink.put(varint: id)
      sink.put(varint: received)
      sink.put(varint: group)
    }
  }

  init(_ bond: Bond, key: PublicKey) {
    self.key = key
    incarnation = bond.host.incarnation ?? Incarnation(0)
    addresses = bond.host.ownAddresses.isEmpty ? bond.host.rumoured : bond.host.ownAddresses
    nonce = bond.nonce
    theirs = bond.theirs
    linkOrdinal = bond.linkOrdinal
    received = bond.received
    first = bond.sendQueue.first
    next = bond.sendQueue.next
    lastStrand = bond.lastStrand
    var groups: [UInt32: Int] = [:]
    bond.host.presences.forEach { serial, presence in
      if let strand = presence.strand { groups[strand.id] = serial }
    }
    strands = bond.strands.values.sorted { $0.id < $1.id }.map {
      StrandRow(id: $0.id, last: $0.last, acknowledged: $0.acknowledged, group: UInt64(groups[$0.id] ?? 0))
    }
    incoming = bond.incoming.values.map {
      IncomingRow(id: $0.id, received: $0.received, group: UInt64($0.group ?? 0))
    }
    features = bond.features
    suspension = UInt32(bond.suspensionMax / .milliseconds(1))
  }

  init(from reader: inout Reader) throws(WireError) {
    key = try PublicKey(from: &reader)
    incarnation = try Incarnation(from: &reader)
    addresses = try reader.list("addresses", max: listMax)
    nonce = try reader.u64()
    guard nonce != 0 else { throw WireError(.numberUnderLimit(field: "bond", value: 0, min: 1)) }
    theirs = try reader.u64()
    linkOrdinal = try reader.varint32("ordinal")
    received = try reader.counted("received")
    first = try reader.counted("first", from: 1)
    next = try reader.counted("next", from: 1)
    lastStrand = try reader.counted32("strand")
    strands = try reader.list("strands", max: listMax)
    incoming = try reader.list("incoming", max: listMax)
    // Rows of earlier versions end here, or after the next.
    features = Hello.Features(rawValue: reader.atEnd ? 0 : try reader.varint())
    suspension = reader.atEnd ? 0 : try reader.counted32("suspension")
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    key.encode(into: &sink)
    incarnation.encode(into: &sink)
    sink.put(list: addresses, max: listMax)
    sink.put(u64: nonce)
    sink.put(u64: theirs)
    sink.put(varint: linkOrdinal)
    sink.put(varint: received)
    sink.put(varint: first)
    sink.put(varint: next)
    sink.put(varint: lastStrand)
    sink.put(list: strands, max: listMax)
    sink.put(list: incoming, max: listMax)
    sink.put(varint: features.rawValue)
    sink.put(varint: suspension)
  }
}

struct RecordRow: Part {
  var strand: UInt32
  var sequence: UInt64
  var frame: [UInt8]
  /// 0 where it is no message.
  var message: UInt64
  var from: EndpointID
  var to: [EndpointID]
  var wantsReceipt: Bool

  /// Whether its frame has a content type.
  var isTyped: Bool {
    // A UInt8 has no padding to show.
    let head = try? FrameHead.next(in: unsafe frame.span.bytes)
    return head?.type == .typedMessage
  }

  init(_ entry: SendQueue.Entry, frame: [UInt8]) {
    strand = entry.strand.id
    sequence = entry.sequence
    self.frame = frame
    message = entry.message?.id.rawValue ?? 0
    from = entry.message?.from ?? EndpointID(ID128(high: 0, low: 0))
    to = entry.message?.to ?? []
    wantsReceipt = entry.message?.wantsReceipt ?? false
  }

  init(from reader: inout Reader) throws(WireError) {
    strand = try reader.varint32("strand")
    sequence = try reader.counted("sequence", from: 1)
    frame = try reader.bytes("frame", max: Limits.frameLengthMax + Limits.varintBytesMax)
    message = try reader.counted("message")
    from = try EndpointID(from: &reader)
    to = try reader.list("recipients", max: listMax)
    wantsReceipt = try reader.bool("receipt")
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: strand)
    sink.put(varint: sequence)
    sink.put(bytes: frame, max: Limits.frameLengthMax + Limits.varintBytesMax)
    sink.put(varint: message)
    from.encode(into: &sink)
    sink.put(list: to, max: listMax)
    sink.put(bool: wantsReceipt)
  }
}
