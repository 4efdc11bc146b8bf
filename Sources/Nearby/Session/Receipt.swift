internal import Engine

/// A reliable message whose sender wants to know what becomes of it: `SessionEvent.fate` tells it for each recipient, once.
public struct Receipt: Hashable, Sendable, Identifiable {
  public let id: UInt64
  public let recipients: [Member]
}

/// Who wants to know what becomes of a message.
enum Inquiry: Sendable {
  /// Of its only recipient.
  case once(Promise<DeliveryStatus>)
  /// Of each.
  case each(Receipt.ID)
}
