internal import Engine

/// A reliable message whose sender wants its delivery status: `SessionEvent.deliveryStatus` reports it for each
/// recipient, once.
public struct Receipt: Hashable, Sendable, Identifiable {
  public let id: UInt64
  public let recipients: [Member]
}

/// A request for the delivery status of a message.
enum Inquiry: Sendable {
  /// For its only recipient.
  case once(Promise<DeliveryStatus>)
  /// For each recipient.
  case each(Receipt.ID)
}
