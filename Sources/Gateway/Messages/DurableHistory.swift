internal import Nearby

/// The durable messages of a session: in rows of its own (`History`), or in a log that it shares (`LogView`).
///
/// A change has its number when its write is queued, and is published in the channel once it is stored.
protocol DurableHistory: HistorySource {
  var session: StoredSession { get }
  /// Serializes sends with the same client-chosen name, so that the check for an existing message holds.
  var names: NamedLocks { get }

  /// Adds a message that is sent from here: `dispatch` gives it to the engine and returns its number there, and
  /// `delivery` says what is known by then of its recipients.
  func send(
    _ text: MessageText, named name: String?, _ dispatch: () throws -> UInt64, delivery: (EarlyStatuses) -> Delivery,
    settle: @escaping (Item?) -> Void
  ) throws

  func updateDelivery(of number: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus)

  /// Adds writes of the changed delivery statuses, as they are by now.
  func writeDeliveryStatuses()
}

/// Delivery statuses that came before it was known which message they belong to.
typealias EarlyStatuses = [(recipients: [EndpointID], status: DeliveryStatus)]
