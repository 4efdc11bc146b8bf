internal import Nearby
internal import Notation

/// A remote member as sessions here see it, and its JSON: one object for all that see it so.
final class MemberModel: Sendable {
  struct View {
    /// The member as reported while it was connecting or connected.
    fileprivate(set) var member: Member
    fileprivate(set) var state: MemberState
    /// Since when it is away, by the machine's clock; nil while it is present.
    fileprivate(set) var awaySince: Timestamp?
    var isSuspended = false
    /// Whether it was ever connected.
    fileprivate(set) var wasIn = false
    var isVerified = false

    init(_ member: Member, _ state: MemberState) {
      (self.member, self.state) = (member, state)
      update(member, state)
    }

    /// Sets its present state; a member that has gone keeps its last known properties.
    mutating func update(_ member: Member, _ state: MemberState) {
      self.state = state
      if state == .connected { wasIn = true }
      isSuspended = false
      setAway(since: member.awaySince)
      if case .notConnected = state { return }
      self.member = member
    }

    /// Sets its properties: the certificates that it has shown, its medium.
    mutating func update(_ member: Member) { self.member = member }

    /// Sets the time that was reported with the member.
    mutating func setAway(since moment: ContinuousClock.Instant?) { awaySince = moment.map(Timestamp.init) }

    /// Two members with the same ID are equal, whatever they have shown.
    fileprivate func isSame(as other: View) -> Bool {
      member == other.member && member.encryption == other.member.encryption && member.inviter == other.member.inviter
        && member.chain == other.member.chain && member.medium == other.member.medium && state == other.state
        && awaySince == other.awaySince && isSuspended == other.isSuspended && wasIn == other.wasIn
        && isVerified == other.isVerified
    }
  }

  let view: View
  let id: String
  let bytes: [UInt8]
  let facets: [String: String]
  /// The beginning of its JSON as a recipient of a message.
  let recipientHead: [UInt8]

  init(_ view: View) {
    recipientHead = Delivery.head(view.member.id, view.member.peer, view.member.name)
    self.view = view
    id = view.member.id.text
    let json = view.json
    bytes = json.bytes
    facets = ["peer": view.member.peer.text, "state": view.state.word, "name": view.member.name.lowercased()]
  }

  func shows(_ view: View) -> Bool { self.view.isSame(as: view) }

  var member: Member { view.member }
  var isConnected: Bool { view.state == .connected }
  /// Whether it is connecting or connected.
  var isPresent: Bool { if case .notConnected = view.state { false } else { true } }

  /// Whether it cannot come back: a member that was lost, or not reached in time, may.
  var isGone: Bool {
    guard case .notConnected(let reason) = view.state else { return false }
    return ![.lost, .slow, .unreachable, .timedOut].contains(reason)
  }

  var content: SharedItems.Content { SharedItems.Content(bytes: bytes, facets: facets, member: self) }

  static let words = ["connecting", "connected", "notConnected"]
}

/// How many members are connected, and how many have gone.
struct MemberCounts {
  private(set) var connected = 0
  private(set) var gone = 0

  init() {}

  /// Those of one member, or of none.
  init(_ member: MemberModel?) {
    switch member?.view.state {
    case .connected: connected = 1
    case .notConnected: gone = 1
    case .connecting, nil: break
    }
  }

  static func - (some: MemberCounts, others: MemberCounts) -> MemberCounts {
    var difference = some
    difference -= others
    return difference
  }

  static func += (counts: inout MemberCounts, others: MemberCounts) {
    counts.connected += others.connected
    counts.gone += others.gone
  }

  static func -= (counts: inout MemberCounts, others: MemberCounts) {
    counts.connected -= others.connected
    counts.gone -= others.gone
  }
}

extension MemberModel.View {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(member.id.text)), .init("peer", .text(member.peer.text)),
      .init("displayName", .text(member.name)), .init("state", .text(state.word)),
      .init("suspended", .bool(isSuspended)), .init("verified", .bool(isVerified)),
      .init("carriedBy", .text(member.host.text)), .init("encryption", .text("\(member.encryption)")),
    ]
    if let medium = member.medium { members.append(.init("medium", .text(medium))) }
    if let inviter = member.inviter { members.append(.init("inviter", .text(inviter.text))) }
    if !member.chain.isEmpty { members.append(.init("chain", .list(member.certificates.map(\.json)))) }
    if case .notConnected(let reason) = state {
      members.append(.init("reason", .text("\(reason)")))
      members.append(.init("detail", .text(reason.sentence)))
    } else if let awaySince {
      members.append(.init("awaySince", .text(awaySince.description)))
    }
    return .object(members)
  }
}

extension MemberState {
  var word: String {
    switch self {
    case .connecting: "connecting"
    case .connected: "connected"
    case .notConnected: "notConnected"
    }
  }
}

extension Invitee {
  func json(_ reason: Reason, isVerified: Bool) -> JSON {
    [
      "id": .text(peer.text), "peer": .text(peer.text), "displayName": .text(name), "state": "notConnected",
      "suspended": .bool(false), "verified": .bool(isVerified), "carriedBy": .text(host.text),
      "reason": .text("\(reason)"), "detail": .text(reason.sentence),
    ]
  }
}
