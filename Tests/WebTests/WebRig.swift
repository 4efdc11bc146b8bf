import Dispatch
import Glibc
import Media
import Reactor
import Testing
import Web

/// A front with a handler on a loop of its own, and clients on the test's thread.
final class WebRig: @unchecked Sendable {
  // `@unchecked`: what lives on the loop is touched through `onLoop` alone.

  let reactor: Reactor
  private(set) var port: UInt16 = 0
  private var handler: TestHandler?
  private var front: Front?
  private var listeners: [Listener] = []

  init(
    _ limits: WebLimits = WebLimits(), identity: ServerIdentity? = nil, sendBuffer: CInt? = nil,
    link: (@Sendable (consuming Descriptor) -> Void)? = nil
  ) throws {
    reactor = try Reactor()
    reactor.start()
    try onLoop { [self] in
      let testHandler = TestHandler(on: reactor)
      let front = Front(on: reactor, handler: testHandler, limits: limits, identity: identity, link: link)
      let listener = try Listener(at: .loopback(port: 0), on: reactor) { socket in
        if var size = sendBuffer {
          setsockopt(socket.number, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        front.take(socket)
      }
      (handler, self.front) = (testHandler, front)
      listeners = [listener]
      port = listener.address.port
    }
  }

  deinit {
    let (reactor, things) = (reactor, Parts(handler: handler, front: front, listeners: listeners))
    (handler, front, listeners) = (nil, nil, [])
    reactor.spawn {
      things.end()
      reactor.stop()
    }
  }

  /// The parts that are released on the loop.
  private final class Parts: @unchecked Sendable {
    // `@unchecked`: handed over once, to the loop.
    private var handler: TestHandler?
    private var front: Front?
    private var listeners: [Listener]

    init(handler: TestHandler?, front: Front?, listeners: [Listener]) {
      (self.handler, self.front, self.listeners) = (handler, front, listeners)
    }

    func end() {
      listeners = []
      front?.close()
      front = nil
      handler = nil
    }
  }

  /// Runs the action on the loop and waits for it.
  @discardableResult
  func onLoop<Value>(_ action: @escaping () throws -> Value) throws -> Value {
    let work = Work(action)
    reactor.spawn { work.run() }
    work.done.wait()
    return try #require(work.result).get()
  }

  // `@unchecked`: the loop writes before it signals, the test reads after it has waited.
  private final class Work<Value>: @unchecked Sendable {
    let done = DispatchSemaphore(value: 0)
    private(set) var result: Result<Value, any Error>?
    private let action: () throws -> Value

    init(_ action: @escaping () throws -> Value) { self.action = action }

    func run() {
      result = Result { try action() }
      done.signal()
    }
  }

  func onHandler<Value>(_ action: @escaping (TestHandler) -> Value) throws -> Value {
    try onLoop { [self] in action(try #require(handler)) }
  }

  func meter<Value>(_ action: @escaping (WebMeter) -> Value) throws -> Value {
    try onLoop { [self] in action(try #require(front).meter) }
  }

  /// The send queues in the memory of the WebSockets themselves.
  var queuedBytes: Int { get throws { try onLoop { [self] in front?.queuedBytes ?? 0 } } }
  var connectionCount: Int { get throws { try onLoop { [self] in front?.connectionCount ?? 0 } } }

  /// Whether all connections end in time.
  var isEventuallyEmpty: Bool {
    get throws { try eventually { [unowned self] _ in front?.connectionCount == 0 } }
  }

  /// Asks again and again, for ten seconds, whether something holds.
  func eventually(_ condition: @escaping (TestHandler) -> Bool) throws -> Bool {
    let deadline = Reactor.now + 10_000_000_000
    while Reactor.now < deadline {
      if try onHandler(condition) { return true }
      sched_yield()
    }
    return false
  }

  func connect() throws -> Client { try Client(port) }

  /// Lets the first sink take so many bytes more; whether it takes them all.
  func feed(_ appetite: Int) throws -> Bool {
    let before = try onHandler { handler in
      let sink = handler.sinks[0]
      sink.appetite = appetite
      sink.exchange?.resume()
      return sink.count
    }
    return try eventually { $0.sinks[0].count == before + appetite }
  }

  /// Sends the text as it is, and gives back all that comes until the server closes or a response is whole.
  func ask(_ text: String) throws -> Answer {
    let client = try connect()
    try client.send(text)
    return try client.answer()
  }
}
