internal import CDBus
internal import Glibc
internal import Reactor

/// The library's watches of a connection's socket, on a reactor. It outlives the connection.
///
/// The library has one watch for reading and one for writing, and closes the socket when it likes: so a duplicate of it
/// is registered, once.
final class BusPoll {
  private let reactor: Reactor
  private var socket: BusDescriptor?
  private var registration: Registration?
  private var watches: [OpaquePointer] = []

  init(on reactor: Reactor) { self.reactor = reactor }

  /// Returns false where there is no memory or no descriptor.
  func attach(to connection: OpaquePointer) -> Bool {
    dbus_connection_set_watch_functions(
      connection, addWatch, removeWatch, toggleWatch, Unmanaged.passUnretained(self).toOpaque(), nil) != 0
  }

  fileprivate func add(_ watch: OpaquePointer) -> Bool {
    if socket == nil {
      let copy = fcntl(dbus_watch_get_unix_fd(watch), F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return false }
      socket = BusDescriptor(Descriptor(owning: copy))
    }
    watches.append(watch)
    return update()
  }

  fileprivate func remove(_ watch: OpaquePointer) {
    watches.removeAll { $0 == watch }
    _ = update()
    if watches.isEmpty { socket = nil }
  }

  /// A socket that is watched for nothing would still report a hang-up, again and again.
  fileprivate func update() -> Bool {
    var interest: Readiness = []
    for watch in watches { interest.formUnion(Self.interest(of: watch)) }
    if let registration {
      if !interest.isEmpty {
        reactor.update(registration, to: interest)
        return true
      }
      reactor.deregister(registration)
      self.registration = nil
    }
    if interest.isEmpty { return true }
    guard let socket else { return false }
    registration = try? Descriptor.lent(socket.number) { socket throws(SystemError) in
      try reactor.register(socket, for: interest) { [unowned self] in handle($0) }
    }
    return registration != nil
  }

  private static func interest(of watch: OpaquePointer) -> Readiness {
    guard dbus_watch_get_enabled(watch) != 0 else { return [] }
    return dbus_watch_get_flags(watch) & DBUS_WATCH_READABLE.rawValue != 0 ? .readable : .writable
  }

  private func handle(_ readiness: Readiness) {
    // The library may remove a watch while it handles another.
    for watch in watches where watches.contains(watch) {
      let interest = Self.interest(of: watch)
      var flags: UInt32 = 0
      if readiness.contains(.readable), interest == .readable { flags |= DBUS_WATCH_READABLE.rawValue }
      if readiness.contains(.writable), interest == .writable { flags |= DBUS_WATCH_WRITABLE.rawValue }
      if readiness.contains(.failed), !interest.isEmpty { flags |= DBUS_WATCH_HANGUP.rawValue }
      if flags != 0 { dbus_watch_handle(watch, flags) }
    }
  }
}

private func poll(_ data: UnsafeMutableRawPointer?) -> BusPoll {
  // The library returns the pointer that it was given, and the poll outlives its connection.
  Unmanaged<BusPoll>.fromOpaque(data!).takeUnretainedValue()
}

private func addWatch(_ watch: OpaquePointer?, _ data: UnsafeMutableRawPointer?) -> dbus_bool_t {
  watch.map { poll(data).add($0) } == true ? 1 : 0
}

private func removeWatch(_ watch: OpaquePointer?, _ data: UnsafeMutableRawPointer?) {
  if let watch { poll(data).remove(watch) }
}

private func toggleWatch(_: OpaquePointer?, _ data: UnsafeMutableRawPointer?) { _ = poll(data).update() }
