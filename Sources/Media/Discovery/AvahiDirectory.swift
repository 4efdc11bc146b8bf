public import Reactor
public import Wire

/// The hosts of the LAN, through the Avahi daemon of this machine: DNS-SD records on all its interfaces.
///
/// Each call of Avahi's waits for the daemon, for 25 seconds if that does not answer, and strangers on the network
/// decide how many calls there are. So a worker makes them on a loop and a thread of its own, and users of this never
/// wait.
public final class AvahiDirectory: Directory {
  public struct Limits: Sendable {
    /// As many as the daemon itself remembers by default.
    public var recordsMax = 4_096
    /// The daemon allows a client 1,024 objects by default; the rest is for records of our own and for browsers.
    public var resolversMax = 768
    /// Resolvers that stay open, each of which queries the network again and again, on every host. Where there are more
    /// paths, none stays open, and they are queried round robin, from the daemon's cache.
    public var watchedMax = 16
    /// The interval of that round robin: a change in a crowd is seen after so much time for each path in it.
    public var refresh: Duration = .milliseconds(250)
    public init() {}
  }

  /// The worker's side.
  private final class Worker: @unchecked Sendable {
    // `@unchecked`: the worker is touched on this loop alone, and the loop may be asked from anywhere.
    let reactor: Reactor
    var worker: AvahiWorker?

    init(_ reactor: Reactor) { self.reactor = reactor }

    func work(_ act: @escaping @Sendable (AvahiWorker) -> Void) {
      reactor.spawn { [self] in if let worker { act(worker) } }
    }

    func open(_ limits: Limits, for delivery: EventDelivery) {
      reactor.spawn { [self] in
        worker = AvahiWorker(limits, on: reactor) { [unowned self] events in delivery.take(events, from: self) }
      }
    }

    func close() {
      reactor.spawn { [self] in
        worker?.close()
        worker = nil
        reactor.stop()
      }
    }
  }

  /// The side of the callback.
  private final class EventDelivery: @unchecked Sendable {
    // `@unchecked`: `told` is touched on this loop alone, and the loop may be asked from anywhere.
    private let reactor: Reactor
    var report: ((DirectoryEvent) -> Void)?

    init(_ reactor: Reactor, _ report: @escaping (DirectoryEvent) -> Void) {
      self.reactor = reactor
      self.report = report
    }

    func take(_ events: [DirectoryEvent], from worker: Worker) {
      reactor.spawn { [self] in
        // The callback may close it.
        for event in events { report?(event) }
        if report != nil { worker.work { $0.delivered() } }
      }
    }
  }

  private let worker: Worker
  private let delivery: EventDelivery

  public init(
    on reactor: Reactor, limits: Limits = Limits(), report: @escaping (DirectoryEvent) -> Void
  ) throws(SystemError) {
    worker = Worker(try Reactor())
    delivery = EventDelivery(reactor, report)
    worker.reactor.start()
    worker.open(limits, for: delivery)
  }

  deinit {
    close()
  }

  public func publish(_ record: ServiceRecord) { worker.work { $0.publish(record) } }

  public func withdraw(_ key: ServiceRecord.Key) { worker.work { $0.withdraw(key) } }

  public func browse(for type: ServiceType) { worker.work { $0.browse(for: type) } }

  public func stopBrowsing(for type: ServiceType) { worker.work { $0.stopBrowsing(for: type) } }

  public func close() {
    guard delivery.report != nil else { return }
    delivery.report = nil
    worker.close()
  }
}
