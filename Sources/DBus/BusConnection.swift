internal import CDBus
internal import Glibc
public import Reactor

/// A connection with a D-Bus message bus, on a reactor's loop.
///
/// Invariants:
/// - It belongs to the loop's thread, and never waits: the library opens the socket, which the kernel answers at once,
///   authenticates and writes as the socket is ready, and each call has a limit of time.
/// - Messages are handled in a turn of their own. So a handler may call, export, follow and close as it likes.
/// - Anybody on the bus may send anything: signals count where the bus says that they come from the service that is
///   followed, and bytes, descriptors and pending calls have limits.
public final class BusConnection {
  public typealias Answer = Result<[BusValue], BusError>

  /// A bus answers in milliseconds.
  public static let answerTimeMax: Duration = .seconds(2)
  /// Enough for the properties of some hundred objects.
  private static let messageBytesMax = 1 << 20
  /// Limit of messages that are not handled yet, and of those that wait for the socket; then the socket is not read, and
  /// calls fail.
  private static let queuedBytesMax = 4 << 20
  private static let descriptorsMax = 16
  private static let callsMax = 256
  private static let messagesPerTurnMax = 64
  private static let bus = "org.freedesktop.DBus"

  private struct PendingCall {
    let timer: Timer
    /// Whether a task waits for it.
    let isAwaited: Bool
    let answer: (Answer) -> Void
  }

  private struct Follower {
    /// The unique name of the service's connection, while it runs.
    var owner: String?
    let handle: (BusServiceEvent) -> Void
  }

  private let reactor: Reactor
  private let poll: BusPoll
  /// Nil once it has ended.
  private var connection: OpaquePointer?
  /// The error of each call after the end.
  private var endError = BusError.disconnected
  private var isDispatchDue = false
  /// Whether the bus has let this program in.
  private var isRegistered = false
  private var calls: [UInt32: PendingCall] = [:]
  private var exports: [String: (BusInvocation) -> Void] = [:]
  private var followers: [String: Follower] = [:]
  /// Called once, when the bus has ended the connection, or refused it.
  public var onEnd: ((BusError) -> Void)?

  /// The system bus's socket: from the environment, else the well-known path.
  public static var systemPath: String {
    let address = getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? ""
    guard let start = address.ranges(of: "unix:path=").first else { return "/run/dbus/system_bus_socket" }
    return String(address[start.upperBound...].prefix { $0 != "," && $0 != ";" })
  }

  /// Throws where nobody listens at the path. Calls may be made at once; they fail if the bus refuses the connection.
  public init(_ path: String = systemPath, on reactor: Reactor) throws(BusError) {
    self.reactor = reactor
    poll = BusPoll(on: reactor)
    let connection = try Self.open(path)
    self.connection = connection
    dbus_connection_set_max_message_size(connection, Self.messageBytesMax)
    dbus_connection_set_max_received_size(connection, Self.queuedBytesMax)
    dbus_connection_set_max_message_unix_fds(connection, Self.descriptorsMax)
    dbus_connection_set_max_received_unix_fds(connection, Self.descriptorsMax)
    let this = Unmanaged.passUnretained(self).toOpaque()
    dbus_connection_set_dispatch_status_function(connection, dispatchStatusChanged, this, nil)
    guard poll.attach(to: connection), dbus_connection_add_filter(connection, messageReceived, this, nil) != 0 else {
      close()
      throw BusError(DBUS_ERROR_NO_MEMORY, "there is no memory or no descriptor for the connection")
    }
    callBus("Hello") { [unowned self] answer in
      if case .failure(let error) = answer { end(error) } else { isRegistered = true }
    }
  }

  /// The library's own call to connect with a bus waits for it, without a limit where the bus does not authenticate.
  private static func open(_ path: String) throws(BusError) -> OpaquePointer {
    guard let escaped = dbus_address_escape_value(path) else { throw .invalidArguments }
    defer { dbus_free(escaped) }
    var error = DBusError()
    dbus_error_init(&error)
    defer { dbus_error_free(&error) }
    guard let connection = dbus_connection_open_private("unix:path=\(String(cString: escaped))", &error) else {
      throw BusError(String(cString: error.name), String(cString: error.message))
    }
    return connection
  }

  deinit { close() }

  /// Ends the connection. Pending calls get no answer; those of tasks fail.
  public func close() {
    guard let connection else { return }
    self.connection = nil
    for call in calls.values {
      reactor.cancel(call.timer)
      if call.isAwaited { call.answer(.failure(.disconnected)) }
    }
    calls = [:]
    dbus_connection_remove_filter(connection, messageReceived, Unmanaged.passUnretained(self).toOpaque())
    dbus_connection_set_dispatch_status_function(connection, nil, nil, nil)
    dbus_connection_close(connection)
    dbus_connection_unref(connection)
  }

  private func end(_ error: BusError) {
    let pending = calls.sorted { $0.key < $1.key }
    if connection != nil { endError = error }
    for (_, call) in pending { reactor.cancel(call.timer) }
    calls = [:]
    close()
    for (_, call) in pending { call.answer(.failure(error)) }
    onEnd?(error)
    onEnd = nil
  }

  // MARK: Calls

  /// Calls a method of a service's object. The answer comes once, in a later turn.
  public func call(
    _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
    within time: Duration = answerTimeMax, answer: @escaping (Answer) -> Void
  ) {
    call(service, path, interface, member, arguments, within: time, isAwaited: false, answer)
  }

  private func call(
    _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue],
    within time: Duration, isAwaited: Bool, _ answer: @escaping (Answer) -> Void
  ) {
    do throws(BusError) {
      guard calls.count < Self.callsMax else { throw .overloaded }
      guard let message = BusMessage.call(service, path, interface, member, arguments) else { throw .invalidArguments }
      let serial = try sendNumbered(message)
      let timer = reactor.schedule(after: time) { [unowned self] in answerCall(serial, .failure(.timedOut)) }
      calls[serial] = PendingCall(timer: timer, isAwaited: isAwaited, answer: answer)
    } catch {
      reactor.soon { answer(.failure(error)) }
    }
  }

  /// The same for a task on the loop.
  nonisolated(nonsending) public func call(
    _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
    within time: Duration = answerTimeMax
  ) async throws(BusError) -> [BusValue] {
    let answer: Answer = await withCheckedContinuation { continuation in
      call(service, path, interface, member, arguments, within: time, isAwaited: true) {
        continuation.resume(returning: $0)
      }
    }
    return try answer.get()
  }

  private func callBus(_ member: String, _ arguments: [BusValue] = [], answer: @escaping (Answer) -> Void) {
    call(Self.bus, "/org/freedesktop/DBus", Self.bus, member, arguments, answer: answer)
  }

  private func answerCall(_ serial: UInt32, _ answer: Answer) {
    guard let call = calls.removeValue(forKey: serial) else { return }
    reactor.cancel(call.timer)
    call.answer(answer)
  }

  /// Sends a signal to one connection, or to all that have asked for it.
  public func emit(
    _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [], to destination: String? = nil
  ) throws(BusError) {
    guard let message = BusMessage.signal(path, interface, member, arguments, to: destination) else {
      throw .invalidArguments
    }
    _ = try sendNumbered(message)
  }

  private func sendNumbered(_ message: borrowing BusMessage) throws(BusError) -> UInt32 {
    guard let connection else { throw endError }
    guard dbus_connection_get_outgoing_size(connection) < Self.queuedBytesMax else { throw .overloaded }
    var serial: dbus_uint32_t = 0
    guard dbus_connection_send(connection, message.pointer, &serial) != 0 else { throw .notSent }
    return serial
  }

  /// A reply for which there is no room is lost, and its caller's call ends by time.
  func send(_ reply: borrowing BusMessage) { _ = try? sendNumbered(reply) }

  // MARK: Objects

  /// Exports an object: the handler gets the calls of its methods.
  public func export(_ path: String, _ handler: @escaping (BusInvocation) -> Void) { exports[path] = handler }

  public func withdraw(_ path: String) { exports[path] = nil }

  // MARK: Services

  /// Follows a service: whether it runs, and its signals. The first event says whether it runs.
  public func follow(_ service: String, _ handler: @escaping (BusServiceEvent) -> Void) {
    precondition(dbus_validate_bus_name(service, nil) != 0, "\(service) is a name on the bus")
    followers[service] = Follower(handle: handler)
    for rule in Self.rules(service) {
      callBus("AddMatch", [.string(rule)]) { [unowned self] answer in
        if case .failure(let error) = answer { followers[service]?.handle(.failed(error)) }
      }
    }
    callBus("GetNameOwner", [.string(service)]) { [unowned self] answer in
      guard case .success(let values) = answer, case .string(let owner)? = values.first else {
        followers[service]?.handle(.stopped)
        return
      }
      changeOwner(of: service, to: owner)
    }
  }

  public func unfollow(_ service: String) {
    guard followers.removeValue(forKey: service) != nil else { return }
    for rule in Self.rules(service) { callBus("RemoveMatch", [.string(rule)]) { _ in } }
  }

  /// The unique name of a followed service, to compare with an invocation's sender.
  public func owner(of service: String) -> String? { followers[service]?.owner }

  private static func rules(_ service: String) -> [String] {
    ["type='signal',sender='\(bus)',member='NameOwnerChanged',arg0='\(service)'", "type='signal',sender='\(service)'"]
  }

  private func changeOwner(of service: String, to owner: String?) {
    guard let follower = followers[service], follower.owner != owner else { return }
    followers[service]?.owner = owner
    if follower.owner != nil { follower.handle(.stopped) }
    if owner != nil { follower.handle(.started) }
  }

  // MARK: Messages

  fileprivate func dispatchSoon() {
    guard !isDispatchDue else { return }
    isDispatchDue = true
    reactor.soon { [weak self] in self?.dispatch() }
  }

  private func dispatch() {
    isDispatchDue = false
    for _ in 0..<Self.messagesPerTurnMax {
      guard let connection else { return }
      if dbus_connection_dispatch(connection) == DBUS_DISPATCH_COMPLETE { return }
    }
    dispatchSoon()
  }

  /// Returns false for what the library answers by itself.
  fileprivate func handle(_ message: consuming BusMessage) -> Bool {
    switch message.type {
    case DBUS_MESSAGE_TYPE_METHOD_RETURN:
      let answer: Answer = message.arguments.map { .success($0) } ?? .failure(.invalidArguments)
      answerCall(message.replySerial, answer)
    case DBUS_MESSAGE_TYPE_ERROR:
      var text = ""
      if case .string(let first)? = message.arguments?.first { text = first }
      answerCall(message.replySerial, .failure(BusError(message.errorName, text)))
    case DBUS_MESSAGE_TYPE_METHOD_CALL:
      guard let export = exports[message.path], let arguments = message.arguments else { return false }
      export(BusInvocation(message, arguments, of: self))
    default:
      handle(signal: message)
    }
    return true
  }

  private func handle(signal message: borrowing BusMessage) {
    // The library sends it itself, and no bus does.
    if message.interface == DBUS_INTERFACE_LOCAL { return end(isRegistered ? .disconnected : .refused) }
    guard let arguments = message.arguments else { return }
    let sender = message.sender
    if sender == Self.bus, message.member == "NameOwnerChanged", arguments.count == 3,
      case (.string(let service), .string(let owner)) = (arguments[0], arguments[2])
    {
      changeOwner(of: service, to: owner.isEmpty ? nil : owner)
    }
    let signal = BusSignal(
      path: message.path, interface: message.interface, member: message.member, arguments: arguments)
    for follower in followers.values where follower.owner == sender { follower.handle(.signal(signal)) }
  }
}

public struct BusSignal: Hashable, Sendable {
  public let path: String
  public let interface: String
  public let member: String
  public let arguments: [BusValue]
}

public enum BusServiceEvent: Hashable, Sendable {
  case started
  case stopped
  case signal(BusSignal)
  /// The bus does not report the service.
  case failed(BusError)
}

private func connection(_ data: UnsafeMutableRawPointer?) -> BusConnection {
  // The library returns the pointer that it was given, and not after `close`.
  Unmanaged<BusConnection>.fromOpaque(data!).takeUnretainedValue()
}

private func dispatchStatusChanged(_: OpaquePointer?, _ status: DBusDispatchStatus, _ data: UnsafeMutableRawPointer?) {
  if status != DBUS_DISPATCH_COMPLETE { connection(data).dispatchSoon() }
}

private func messageReceived(
  _: OpaquePointer?, _ message: OpaquePointer?, _ data: UnsafeMutableRawPointer?
) -> DBusHandlerResult {
  guard let message else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
  return connection(data).handle(BusMessage(retaining: message))
    ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
}
