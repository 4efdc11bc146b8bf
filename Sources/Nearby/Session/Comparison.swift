internal import Engine
internal import Wire

/// A comparison of a short authentication code on two screens: if the codes match, there is no man in the middle.
///
/// ```swift
/// if case .comparison(let comparison) = event {
///   try await comparison.conclude(matches: isSameOnBothScreens(comparison.code))
/// }
/// ```
public final class Comparison: Sendable {
  public let member: Member
  public let code: String
  /// Whether it was begun here.
  package let isOwn: Bool
  let outcome = Promise<Reason>()
  private let id: ComparisonID
  private let loop: Loop

  init(_ id: ComparisonID, isOwn: Bool, with member: Member, code: String, _ loop: Loop) {
    self.id = id
    self.isOwn = isOwn
    self.member = member
    self.code = code
    self.loop = loop
  }

  public var number: UInt64 { id.rawValue }

  /// Says whether the codes are the same. If so, the peer is remembered as confirmed.
  public func conclude(matches: Bool) async throws(NearbyError) {
    let (keys, disk) = try await loop.run { [id] in
      try $0.conclude(id, matches: matches)
      return ($0.keys, $0.disk)
    }
    guard matches else { return }
    do {
      try await disk.attempt { [member] in
        let name = try keys.knownPeer(member.peer)?.name ?? DisplayName(member.name)
        try keys.remember(KnownPeer(id: member.peer, name: name, confirmation: .comparedCode))
      }.get()
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// How it ended here; `none` where the codes were the same.
  public var ended: Reason {
    get async { await outcome.value }
  }
}
