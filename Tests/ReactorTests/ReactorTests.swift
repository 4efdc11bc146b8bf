import Glibc
import Testing

@testable import Reactor

@Suite struct ReactorTests {
  @Test func `a job from another thread wakes the loop`() throws {
    let reactor = try Reactor()
    // The loop sleeps until this: it has no timer and no descriptor.
    onAnotherThread { reactor.spawn { reactor.stop() } }
    reactor.run()
  }

  @Test
  func `a thread that others wait for has its turn first where that is allowed, and one nobody waits for its last`()
    async throws
  {
    func niceness(_ rank: Reactor.Rank) async throws -> (own: CInt, isAllowed: Bool) {
      let reactor = try Reactor()
      reactor.start(rank)
      defer { reactor.stop() }
      return await withCheckedContinuation { continuation in
        reactor.post {
          let thread = __priority_which_t(PRIO_PROCESS.rawValue)
          let own = getpriority(thread, 0)
          continuation.resume(returning: (own, setpriority(thread, 0, -10) == 0))
        }
      }
    }
    let usual = try await niceness(.usual)
    let first = try await niceness(.first)
    #expect(first.own == (usual.isAllowed ? -10 : usual.own))
    #expect(try await niceness(.last).own == 10)
    #expect(usual.own > -10 && usual.own < 10 && usual.isAllowed == first.isAllowed)
  }

  @Test func `what has come has its turn before a timer that is always due`() throws {
    let reactor = try Reactor()
    var done: [String] = []
    func walk() {
      done.append("piece")
      if done.count < 6 { reactor.schedule(at: Reactor.now, walk) } else { reactor.stop() }
    }
    // The case of an answer from another thread: the loop has taken it, and a piece of the walk is due.
    reactor.schedule(after: .zero, walk)
    reactor.soon {
      done.append("answer")
      reactor.soon { done.append("what follows") }
    }
    reactor.run()
    #expect(done.prefix(3) == ["answer", "what follows", "piece"])
  }

  @Test func `many threads wake one loop, and no job is lost`() throws {
    let reactor = try Reactor()
    let tally = Tally(on: reactor)
    for _ in 0..<8 {
      onAnotherThread {
        for _ in 0..<1_000 { reactor.spawn { await tally.count(until: 8_000) } }
      }
    }
    reactor.run()
  }

  @Test func `a spawned task stays on the loop, whatever it awaits`() throws {
    let reactor = try Reactor()
    #expect(reactor.isIsolatingCurrentContext() == false)
    reactor.spawn {
      #expect(reactor.isIsolatingCurrentContext() == true)
      async let child = reactor.isIsolatingCurrentContext()
      #expect(await child == true)
      await withCheckedContinuation { continuation in onAnotherThread { continuation.resume() } }
      #expect(reactor.isIsolatingCurrentContext() == true)
      reactor.stop()
    }
    reactor.run()
  }

  @Test func `what dies with a call may call again`() throws {
    final class CallsOnDeinit {
      let reactor: Reactor
      init(_ reactor: Reactor) { self.reactor = reactor }
      deinit { reactor.soon { [reactor] in reactor.stop() } }
    }
    let reactor = try Reactor()
    reactor.schedule(after: .zero) {
      let mourner = CallsOnDeinit(reactor)
      reactor.soon { withExtendedLifetime(mourner) {} }
    }
    reactor.run()
  }

  @Test func `an actor of the loop is isolated within its callbacks`() throws {
    let reactor = try Reactor()
    let tally = Tally(on: reactor)
    reactor.schedule(after: .zero) { tally.assumeIsolated { $0.count(until: 1) } }
    reactor.run()
  }

  @Test func `an event that was fetched for a descriptor since deregistered reaches nobody`() throws {
    let reactor = try Reactor()
    let near = try pair()
    let far = try pair()
    near.write()
    far.write()
    // Both are readable in the first turn. Whichever handler runs first takes the other's place in the table.
    var registrations: [Registration] = []
    var events: [String] = []
    let quiet = try pair()
    func take(_ name: String) -> (Readiness) -> Void {
      { _ in
        events.append(name)
        reactor.deregister(registrations[0])
        reactor.deregister(registrations[1])
        // The descriptor is open and registered nowhere yet.
        registrations.append(try! reactor.register(quiet.reader, for: .readable) { _ in events.append("stale") })
        reactor.soon { reactor.stop() }
      }
    }
    registrations.append(try reactor.register(near.reader, for: .readable, take("near")))
    registrations.append(try reactor.register(far.reader, for: .readable, take("far")))
    reactor.run()
    #expect(events.count == 1)
    #expect(events != ["stale"])
  }

  @Test func `a handler hears only of what it is registered for`() throws {
    let reactor = try Reactor()
    let pair = try pair()
    var events: [Readiness] = []
    var change: (Readiness) -> Void = { _ in }
    let registration = try reactor.register(pair.reader, for: []) { readiness in
      events.append(readiness)
      change(events.count == 1 ? .writable : [])
      if events.count == 2 { reactor.schedule(after: .milliseconds(2)) { reactor.stop() } }
    }
    change = { reactor.update(registration, to: $0) }
    pair.write()
    reactor.schedule(after: .milliseconds(2)) {
      #expect(events == [])
      change(.readable)
    }
    reactor.run()
    #expect(events == [.readable, .writable])
  }

  @Test func `an error names the operation and the errno`() throws {
    let taken = try Descriptor.listening(at: .loopback(port: 0))
    let address = try #require(try taken.localAddress())
    let error = #expect(throws: SystemError.self) { _ = try Descriptor.listening(at: address) }
    #expect(error?.name == "EADDRINUSE")
    #expect(error?.description == "bind to \(address) failed: EADDRINUSE (Address already in use)")
  }

  @Test(arguments: ["127.0.0.1", "10.1.2.3", "::1", "fe80::1234"])
  func `a numeric address is read and shown`(_ text: String) throws {
    let address = try #require(SocketAddress(text, port: 7777))
    #expect(address.description == (text.contains(":") ? "[\(text)]:7777" : "\(text):7777"))
  }

  @Test func `an IPv6 address may name its interface`() throws {
    let named = try #require(SocketAddress("fe80::1%lo", port: 7))
    #expect(named == SocketAddress("fe80::1%1", port: 7))
    #expect(named.description == "[fe80::1%1]:7")
    #expect(!named.lacksScope)
    let bare = try #require(SocketAddress("fe80::1", port: 7))
    #expect(bare.lacksScope)
    #expect(bare.scoped(to: 1) == named)
    #expect(SocketAddress("fe80::1%nothing-of-that-name", port: 7) == nil)
    #expect(SocketAddress("fe80::1%", port: 7) == nil)
  }

  @Test(arguments: ["", "localhost", "1.2.3", "1.2.3.4.5", "::g"])
  func `what is no numeric address is nil`(_ text: String) {
    #expect(SocketAddress(text, port: 1) == nil)
  }
}

/// Counts on its loop, and stops it at the end.
private actor Tally {
  nonisolated let reactor: Reactor
  private var counted = 0

  init(on reactor: Reactor) { self.reactor = reactor }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  func count(until end: Int) {
    counted += 1
    if counted == end { reactor.stop() }
  }
}

/// Two ends of a socket: what is written to one can be read from the other.
private struct Pair: ~Copyable {
  let reader: Descriptor
  let writer: Descriptor

  func write() {
    let byte: UInt8 = 1
    #expect(withUnsafeBytes(of: byte) { Glibc.write(writer.number, $0.baseAddress, 1) } == 1)
  }
}

private func pair() throws -> Pair {
  var ends: [CInt] = [0, 0]
  try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
  return Pair(reader: Descriptor(owning: ends[0]), writer: Descriptor(owning: ends[1]))
}

/// A plain thread, of no pool and with no executor.
private func onAnotherThread(_ work: @escaping @Sendable () -> Void) {
  final class Box {
    let work: @Sendable () -> Void
    init(_ work: @escaping @Sendable () -> Void) { self.work = work }
  }
  var thread = pthread_t()
  let created = pthread_create(
    &thread, nil,
    {
      // The box that was passed below.
      Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().work()
      return nil
    }, Unmanaged.passRetained(Box(work)).toOpaque())
  precondition(created == 0)
  pthread_detach(thread)
}
