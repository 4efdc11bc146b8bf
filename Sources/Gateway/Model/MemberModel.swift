internal import Nearby
internal import Notation

/// A remote member, as last reported.
final class MemberModel {
  /// The member as reported while it was connecting or connected.
  private(set) var member: Member
  /// The certificates that it has shown.
  private var chain: JSON
  var state: MemberState
  /// Since when it is away, by the machine's clock; nil while it is present.
  private(set) var awaySince: Timestamp?
  var isSuspended = false
  /// Whether it was ever connected.
  var wasIn = false

  init(_ member: Member, _ state: MemberState) {
    self.member = member
    chain = .list(member.certificates.map(\.json))
    self.state = state
  }

  /// Sets its present state; a member that has gone keeps its last known properties.
  func update(_ member: Member, _ state: MemberState) {
    self.state = state
    if case .notConnected = state { return }
    if member.chain != self.member.chain { chain = .list(member.certificates.map(\.json)) }
    self.member = member
  }

  /// Sets the time that was reported with the member.
  func setAway(since moment: ContinuousClock.Instant?) { awaySince = moment.map(Timestamp.init) }

  var isConnected: Bool { state == .connected }

  /// Whether it cannot come back: a member that was lost, or not reached in time, may.
  var isGone: Bool {
    guard case .notConnected(let reason) = state else { return false }
    return ![.lost, .slow, .unreachable, .timedOut].contains(reason)
  }

  func json(isVerified: Bool) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(member.id.text)), .init("peer", .text(member.peer.text)),
      .init("displayName", .text(member.name)), .init("state", .text(word)), .init("suspended", .bool(isSuspended)),
      .init("verified", .bool(isVerified)), .init("carriedBy", .text(member.host.text)),
      .init("encryption", .text("\(member.encryption)")),
    ]
    if let inviter = member.inviter { members.append(.init("inviter", .text(inviter.text))) }
    if !member.chain.isEmpty { members.append(.init("chain", chain)) }
    if case .notConnected(let reason) = state {
      members.append(.init("reason", .text("\(reason)")))
      members.append(.init("detail", .text(reason.sentence)))
    } else if let awaySince {
      members.append(.init("awaySince", .text(awaySince.description)))
    }
    return .object(members)
  }

  static let words = ["connecting", "connected", "notConnected"]

  private var word: String {
    switch state {
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
