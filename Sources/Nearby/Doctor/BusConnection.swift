internal import CDBus
internal import Glibc

/// A connection with the system's D-Bus, for a few method calls with a bounded wait each.
final class BusConnection {
  struct Failure: Error, Equatable {
    let path: String
    let code: CInt
  }

  /// A bus answers in milliseconds.
  private static let answerMillisecondsMax: CInt = 2_000
  private static let errorBytesMax = 256

  private let connection: OpaquePointer

  /// From the environment, else the well-known path.
  static var path: String {
    let address = getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? ""
    guard let start = address.ranges(of: "unix:path=").first else { return "/run/dbus/system_bus_socket" }
    return String(address[start.upperBound...].prefix { $0 != "," && $0 != ";" })
  }

  init(_ path: String = path) throws(Failure) {
    var (opened, error) = (nil as OpaquePointer?, "")
    error = Self.naming { opened = CDBus_open("unix:path=\(path)", $0, CInt($1)) }
    guard let opened else { throw Failure(path: path, code: Self.code(of: error)) }
    connection = opened
    // By hand, and not by `dbus_bus_register`, which waits for 25 s.
    let answer = call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
    guard case .returned = answer else {
      guard case .failed(let error) = answer else { throw Failure(path: path, code: EPROTO) }
      throw Failure(path: path, code: Self.code(of: error))
    }
  }

  deinit {
    dbus_connection_close(connection)
    dbus_connection_unref(connection)
  }

  func hasOwner(_ name: String) -> Bool {
    let answer = call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", [name])
    guard case .returned(.number(let number)) = answer else { return false }
    return number == 1
  }

  enum Answer: Equatable {
    /// With its first argument.
    case returned(Value?)
    /// With the name of the error.
    case failed(String)
  }

  enum Value: Equatable {
    case text(String)
    /// A number of 32 bits, or a boolean.
    case number(UInt32)
  }

  func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String] = []
  ) -> Answer {
    guard let message = dbus_message_new_method_call(destination, path, interface, member) else {
      return .failed(DBUS_ERROR_NO_MEMORY)
    }
    defer { dbus_message_unref(message) }
    var iterator = DBusMessageIter()
    dbus_message_iter_init_append(message, &iterator)
    for argument in arguments {
      argument.withCString { text in
        var text: UnsafePointer<CChar>? = text
        _ = dbus_message_iter_append_basic(&iterator, CDBus_text, &text)
      }
    }
    var answer: OpaquePointer?
    let error = Self.naming {
      answer = CDBus_ask(connection, message, Self.answerMillisecondsMax, $0, CInt($1))
    }
    guard let answer else { return .failed(error) }
    defer { dbus_message_unref(answer) }
    return .returned(Self.first(of: answer))
  }

  private static func first(of message: OpaquePointer) -> Value? {
    var iterator = DBusMessageIter()
    guard dbus_message_iter_init(message, &iterator) != 0 else { return nil }
    switch dbus_message_iter_get_arg_type(&iterator) {
    case CDBus_text:
      var text: UnsafePointer<CChar>?
      dbus_message_iter_get_basic(&iterator, &text)
      return text.map { .text(String(cString: $0)) }
    case CDBus_signed, CDBus_unsigned, CDBus_boolean:
      var number: UInt32 = 0
      dbus_message_iter_get_basic(&iterator, &number)
      return .number(number)
    default: return nil
    }
  }

  /// The name of the error that a call writes.
  private static func naming(_ body: (UnsafeMutablePointer<CChar>, Int) -> Void) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: errorBytesMax) { room in
      room.initialize(repeating: 0)
      // An allocation of some bytes has an address.
      guard let start = room.baseAddress else { return "" }
      body(start, room.count)
      return String(cString: start)
    }
  }

  private static func code(of error: String) -> CInt {
    switch error {
    case DBUS_ERROR_FILE_NOT_FOUND: ENOENT
    case DBUS_ERROR_NO_SERVER, DBUS_ERROR_DISCONNECTED: ECONNREFUSED
    case DBUS_ERROR_ACCESS_DENIED, DBUS_ERROR_AUTH_FAILED: EACCES
    case DBUS_ERROR_NO_REPLY, DBUS_ERROR_TIMEOUT: ETIMEDOUT
    default: EPROTO
    }
  }
}
