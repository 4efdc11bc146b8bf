internal import CDBus

/// The reason why the bus, or a program on it, did not do what it was asked.
public struct BusError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Such as `org.freedesktop.DBus.Error.NoReply`.
  public let name: String
  public let text: String

  public init(_ name: String, _ text: String) {
    self.name = name
    self.text = text
  }

  public var description: String { "\(text) (\(name))" }

  public static let timedOut = BusError(DBUS_ERROR_NO_REPLY, "no answer came in time")
  public static let disconnected = BusError(DBUS_ERROR_DISCONNECTED, "the connection with the bus has ended")
  /// A bus closes the connection of a user whom it does not let in, or whom it cannot look up.
  public static let refused = BusError(DBUS_ERROR_AUTH_FAILED, "the bus does not let this user in")
  public static let invalidArguments = BusError(
    DBUS_ERROR_INVALID_ARGS, "a name, a path, a signature or a descriptor of the message is not valid")
  public static let overloaded = BusError(DBUS_ERROR_LIMITS_EXCEEDED, "too many calls wait for the bus")
  /// Descriptors need the bus's consent, which comes before its first answer.
  public static let notSent = BusError(
    DBUS_ERROR_NOT_SUPPORTED, "the bus takes no descriptors, or has not answered yet, or there is no memory")
  /// There is no socket at the path.
  public static let noSocketName = DBUS_ERROR_FILE_NOT_FOUND
  /// Nobody listens at the socket.
  public static let noServerName = DBUS_ERROR_NO_SERVER
  public static let accessDeniedName = DBUS_ERROR_ACCESS_DENIED
}
