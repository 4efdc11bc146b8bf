public import Wire

/// A warning: something works, but not as well as was meant; with the peer that it is about.
public struct Advice: Hashable, Sendable, CustomStringConvertible {
  public let peer: PeerID
  /// A sentence for people.
  public let description: String
}
