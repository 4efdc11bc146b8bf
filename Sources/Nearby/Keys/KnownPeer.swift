public import Wire

/// A peer that was met before and is known by its key.
public struct KnownPeer: Hashable, Sendable {
  /// How it was made sure that the key is that person's.
  public enum Confirmation: String, Hashable, Sendable, CaseIterable {
    /// Both people saw the same code.
    case comparedCode = "code"
    /// Somebody who knows it said so.
    case byHand = "hand"
    /// Nobody has: it was the first that came by its name.
    case firstUse
  }

  public let id: PeerID
  /// The name it was given here, whatever it calls itself.
  public var name: DisplayName
  public var confirmation: Confirmation

  public init(id: PeerID, name: DisplayName, confirmation: Confirmation) {
    self.id = id
    self.name = name
    self.confirmation = confirmation
  }
}
