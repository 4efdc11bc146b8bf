internal import Engine
public import Media

/// A member that waits for a yes or a no; no answer in time is a no.
///
/// ```swift
/// if case .decision(let decision) = event {
///   if case .trusted = host.evaluate(decision.chain) {
///     try await decision.admit()
///   } else {
///     try await decision.refuse()
///   }
/// }
/// ```
public final class TrustDecision: Sendable {
  public let member: Member
  /// The certificates of its security identity, leaf first, in DER; none where it shows no identity.
  public var chain: [[UInt8]] { member.chain }
  /// Summaries of the certificates that can be read.
  public var certificates: [CertificateSummary] { member.certificates }
  let outcome = Promise<Void>()
  private let id: DecisionID
  private let loop: Loop

  init(_ id: DecisionID, _ member: Member, _ loop: Loop) {
    self.id = id
    self.member = member
    self.loop = loop
  }

  /// Returns when it is decided, or its timeout is over.
  public func ended() async { await outcome.value }

  public func admit() async throws(NearbyError) { try await loop.run { [id] in try $0.decide(id, true) } }

  public func refuse() async throws(NearbyError) { try await loop.run { [id] in try $0.decide(id, false) } }
}
