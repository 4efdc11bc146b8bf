internal import CDBus

/// A call of a method that another program makes of an exported object. It is answered once; one that is released
/// without an answer is refused.
public final class BusInvocation {
  /// The unique name of the caller, which the bus vouches for.
  public let sender: String
  public let interface: String
  public let member: String
  public let arguments: [BusValue]

  private let message: BusMessage
  private weak var connection: BusConnection?
  private var isAnswered: Bool

  init(_ message: consuming BusMessage, _ arguments: [BusValue], of connection: BusConnection) {
    sender = message.sender
    interface = message.interface
    member = message.member
    self.arguments = arguments
    isAnswered = message.wantsNoReply
    self.message = message
    self.connection = connection
  }

  deinit { refuse(BusError(DBUS_ERROR_FAILED, "the program gave no answer")) }

  public func reply(_ values: [BusValue] = []) {
    answer {
      guard let pointer = dbus_message_new_method_return(message.pointer) else { return nil }
      return BusMessage(owning: pointer).with(values)
    }
  }

  public func refuse(_ error: BusError) {
    answer {
      precondition(dbus_validate_error_name(error.name, nil) != 0, "\(error.name) is the name of an error")
      return dbus_message_new_error(message.pointer, error.name, error.text).map { BusMessage(owning: $0) }
    }
  }

  private func answer(_ make: () -> BusMessage?) {
    if isAnswered { return }
    isAnswered = true
    if let connection, let reply = make() { connection.send(reply) }
  }
}
