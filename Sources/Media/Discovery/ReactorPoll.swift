internal import CAvahi
internal import Glibc
internal import Reactor

/// Avahi's event loop interface, on a reactor. It outlives every client that uses it.
///
/// It hands out pointers to objects of this file, retained until Avahi frees them.
final class ReactorPoll {
  /// For `avahi_client_new`.
  let api: UnsafeMutablePointer<AvahiPoll>
  fileprivate let reactor: Reactor

  init(on reactor: Reactor) {
    self.reactor = reactor
    api = .allocate(capacity: 1)
    api.initialize(
      to: AvahiPoll(
        userdata: nil, watch_new: newWatch, watch_update: updateWatch, watch_get_events: eventsOfWatch,
        watch_free: freeWatch, timeout_new: newTimeout, timeout_update: updateTimeout, timeout_free: freeTimeout))
    api.pointee.userdata = Unmanaged.passUnretained(self).toOpaque()
  }

  deinit {
    api.deallocate()
  }
}

/// A descriptor that Avahi wants watched. D-Bus has two watches for one descriptor, and closes it when it likes: so
/// each watches a copy of its own.
private final class DescriptorWatch {
  private let reactor: Reactor
  private let descriptor: Descriptor
  private let number: CInt
  private let callback: AvahiWatchCallback
  private let userdata: UnsafeMutableRawPointer?
  private var registration: Registration?
  private(set) var events = AvahiWatchEvent(0)

  init?(
    _ number: CInt, _ callback: @escaping AvahiWatchCallback, _ userdata: UnsafeMutableRawPointer?,
    on reactor: Reactor
  ) {
    let copy = dup(number)
    guard copy >= 0 else { return nil }
    descriptor = Descriptor(owning: copy)
    self.number = number
    self.callback = callback
    self.userdata = userdata
    self.reactor = reactor
  }

  /// False where the descriptor cannot be watched. One that is watched for nothing would still report a hang-up, again
  /// and again.
  func watch(for events: AvahiWatchEvent) -> Bool {
    var interest: Readiness = []
    if events.rawValue & AVAHI_WATCH_IN.rawValue != 0 { interest.insert(.readable) }
    if events.rawValue & AVAHI_WATCH_OUT.rawValue != 0 { interest.insert(.writable) }
    if interest.isEmpty {
      end()
    } else if let registration {
      reactor.update(registration, to: interest)
    } else {
      registration = try? reactor.register(descriptor, for: interest) { [self] in fired($0) }
    }
    return interest.isEmpty || registration != nil
  }

  func end() {
    if let registration { reactor.deregister(registration) }
    registration = nil
  }

  private func fired(_ readiness: Readiness) {
    var bits: UInt32 = 0
    if readiness.contains(.readable) { bits |= AVAHI_WATCH_IN.rawValue }
    if readiness.contains(.writable) { bits |= AVAHI_WATCH_OUT.rawValue }
    if readiness.contains(.failed) { bits |= AVAHI_WATCH_HUP.rawValue }
    events = AvahiWatchEvent(bits)
    callback(handle(self), number, events, userdata)
    events = AvahiWatchEvent(0)
  }
}

private final class Timeout {
  private let reactor: Reactor
  private let callback: AvahiTimeoutCallback
  private let userdata: UnsafeMutableRawPointer?
  private var timer: Timer?

  init(_ callback: @escaping AvahiTimeoutCallback, _ userdata: UnsafeMutableRawPointer?, on reactor: Reactor) {
    self.callback = callback
    self.userdata = userdata
    self.reactor = reactor
  }

  /// At a time of the wall clock; never where there is none.
  func set(to time: timeval?) {
    if let timer { reactor.cancel(timer) }
    timer = time.map { time in
      reactor.schedule(after: max(.zero, time.distance)) { [self] in
        timer = nil
        callback(handle(self), userdata)
      }
    }
  }
}

extension timeval {
  /// From now.
  fileprivate var distance: Duration {
    var now = timeval()
    gettimeofday(&now, nil)
    return .seconds(tv_sec - now.tv_sec) + .microseconds(Int64(tv_usec - now.tv_usec))
  }
}

private func handle(_ object: AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passUnretained(object).toOpaque()) }

private func object<Object: AnyObject>(_ handle: OpaquePointer?) -> Unmanaged<Object> {
  // Avahi returns the pointer that it was given, and not after it has freed it.
  Unmanaged.fromOpaque(UnsafeRawPointer(handle!))
}

private func reactor(of api: UnsafePointer<AvahiPoll>?) -> Reactor {
  // The same, and the poll outlives its clients.
  Unmanaged<ReactorPoll>.fromOpaque(api!.pointee.userdata!).takeUnretainedValue().reactor
}

private func newWatch(
  _ api: UnsafePointer<AvahiPoll>?, _ number: CInt, _ events: AvahiWatchEvent, _ callback: AvahiWatchCallback?,
  _ userdata: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  guard let callback, let watch = DescriptorWatch(number, callback, userdata, on: reactor(of: api)),
    watch.watch(for: events)
  else { return nil }
  return OpaquePointer(Unmanaged.passRetained(watch).toOpaque())
}

private func updateWatch(_ watch: OpaquePointer?, _ events: AvahiWatchEvent) {
  let watch: Unmanaged<DescriptorWatch> = object(watch)
  _ = watch.takeUnretainedValue().watch(for: events)
}

private func eventsOfWatch(_ watch: OpaquePointer?) -> AvahiWatchEvent {
  let watch: Unmanaged<DescriptorWatch> = object(watch)
  return watch.takeUnretainedValue().events
}

private func freeWatch(_ watch: OpaquePointer?) {
  let watch: Unmanaged<DescriptorWatch> = object(watch)
  watch.takeUnretainedValue().end()
  watch.release()
}

private func newTimeout(
  _ api: UnsafePointer<AvahiPoll>?, _ time: UnsafePointer<timeval>?, _ callback: AvahiTimeoutCallback?,
  _ userdata: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  guard let callback else { return nil }
  let timeout = Timeout(callback, userdata, on: reactor(of: api))
  timeout.set(to: time?.pointee)
  return OpaquePointer(Unmanaged.passRetained(timeout).toOpaque())
}

private func updateTimeout(_ timeout: OpaquePointer?, _ time: UnsafePointer<timeval>?) {
  let timeout: Unmanaged<Timeout> = object(timeout)
  timeout.takeUnretainedValue().set(to: time?.pointee)
}

private func freeTimeout(_ timeout: OpaquePointer?) {
  let timeout: Unmanaged<Timeout> = object(timeout)
  timeout.takeUnretainedValue().set(to: nil)
  timeout.release()
}
