public import Wire

/// A known peer, by its key.
public struct KnownPeer: Hashable, Sendable {
  /// How its key was verified.
  public enum Confirmation: String, Hashable, Sendable, CaseIterable {
    /// Both people saw the same code.
    case comparedCode = "code"
    /// Somebody who knows it vouched for it.
    case byHand = "hand"
    /// Trust on first use: nobody verified the key, which was the first by its name.
    case firstUse
  }

  public let id: PeerID
  /// The name that it was given here, whatever it calls itself.
  public var name: DisplayName
  public var confirmation: Confirmation

  public init(id: PeerID, name: DisplayName, confirmation: Confirmation) {
    self.id = id
    self.name = name
    self.confirmation = confirmation
  }
}
