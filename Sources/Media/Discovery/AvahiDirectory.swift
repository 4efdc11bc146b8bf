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
  private final class Workshop: @unchecked Sendable {
    // `@unchecked`: the worker is touched on this loop alone, and the loop may be asked from anywhere.
    let reactor: Reactor
    var worker: AvahiWorker?

    init(_ reactor: Reactor) { self.reactor = reactor }

    func work(_ act: @escaping @Sendable (AvahiWorker) -> Void) {
      reactor.spawn { [self] in if let worker { act(worker) } }
    }

    func open(_ limits: Limits, for counter: Counter) {
      reactor.spawn { [self] in
        worker = AvahiWorker(limits, on: reactor) { [unowned self] events in counter.take(events, from: self) }
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
  private final class Counter: @unchecked Sendable {
    // `@unchecked`: `told` is touched on this loop alone, and the loop may be asked from anywhere.
    private let reactor: Reactor
    var told: ((DirectoryEvent) -> Void)?

    init(_ reactor: Reactor, _ told: @escaping (DirectoryEvent) -> Void) {
      self.reactor = reactor
      self.told = told
    }

    func take(_ events: [DirectoryEvent], from workshop: Workshop) {
      reactor.spawn { [self] in
        // The callback may close it.
        for event in events { told?(event) }
        if told != nil { workshop.work { $0.delivered() } }
      }
    }
  }

  private let workshop: Workshop
  private let counter: Counter

  public init(
    on reactor: Reactor, limits: Limits = Limits(), told: @escaping (DirectoryEvent) -> Void
  ) throws(SystemError) {
    workshop = Workshop(try Reactor())
    counter = Counter(reactor, told)
    workshop.reactor.start()
    workshop.open(limits, for: counter)
  }

  deinit {
    close()
  }

  public func publish(_ record: ServiceRecord) { workshop.work { $0.publish(record) } }

  public func withdraw(_ key: ServiceRecord.Key) { workshop.work { $0.withdraw(key) } }

  public func browse(for type: ServiceType) { workshop.work { $0.browse(for: type) } }

  public func stopBrowsing(for type: ServiceType) { workshop.work { $0.stopBrowsing(for: type) } }

  public func close() {
    guard counter.told != nil else { return }
    counter.told = nil
    workshop.close()
  }
}
