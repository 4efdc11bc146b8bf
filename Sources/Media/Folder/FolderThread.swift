internal import Reactor
internal import Wire

/// A folder medium's worker on a thread of its own, and the way of its events back to the host's loop.
final class FolderThread {
  /// The worker's side.
  private final class Worker: @unchecked Sendable {
    // `@unchecked`: the worker is touched on this loop alone, and the loop may be asked from anywhere.
    let reactor: Reactor
    var worker: FolderWorker?

    init(_ reactor: Reactor) { self.reactor = reactor }

    func work(_ act: @escaping @Sendable (FolderWorker) -> Void) {
      reactor.spawn { [self] in if let worker { act(worker) } }
    }
  }

  /// The host's side.
  private final class Delivery: @unchecked Sendable {
    // `@unchecked`: `report` is touched on this loop alone, and the loop may be asked from anywhere.
    private let reactor: Reactor
    var report: ((FolderEvent) -> Void)?

    init(_ reactor: Reactor, _ report: @escaping (FolderEvent) -> Void) {
      self.reactor = reactor
      self.report = report
    }

    func take(_ events: [FolderEvent], from worker: Worker) {
      reactor.spawn { [self] in
        // The callback may close it.
        for event in events { report?(event) }
        if report != nil { worker.work { $0.delivered() } }
      }
    }
  }

  private let worker: Worker
  private let delivery: Delivery

  init(
    _ path: String, _ host: HostID, on reactor: Reactor, report: @escaping (FolderEvent) -> Void
  ) throws(SystemError) {
    worker = Worker(try Reactor())
    delivery = Delivery(reactor, report)
    worker.reactor.start()
    worker.reactor.spawn { [worker, delivery] in
      worker.worker = FolderWorker(path, host, on: worker.reactor) { [unowned worker] events in
        delivery.take(events, from: worker)
      }
    }
  }

  deinit { close() }

  func publish(_ record: FolderRecord) { worker.work { $0.publish(record) } }

  func check(_ name: FolderName) { worker.work { $0.check(name) } }

  func connect(to name: FolderName, ticket: UInt64) { worker.work { $0.connect(to: name, ticket: ticket) } }

  func close() {
    delivery.report = nil
    worker.reactor.spawn { [worker] in
      worker.worker?.close()
      worker.worker = nil
      worker.reactor.stop()
    }
  }
}
