import Glibc
import Reactor
import TestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(1))) struct BusConnectionTests {
  private let service = "org.example.Service"
  private let path = "/org/example/Thing"
  private let interface = "org.example.Thing"

  /// Runs the body on a loop of its own.
  private func onLoop(_ body: @escaping @Sendable (Reactor) async throws -> Void) async throws {
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    let result = await reactor.spawn { () -> Result<Void, any Error> in
      do { return .success(try await body(reactor)) } catch { return .failure(error) }
    }.value
    try result.get()
  }

  /// A service that answers `Echo` with its arguments, refuses `Refuse`, forgets `Forget` and keeps all else.
  private final class Service {
    let bus: BusConnection
    var kept: [BusInvocation] = []

    init(_ name: String, at path: String, _ bus: BusConnection) async throws(BusError) {
      self.bus = bus
      bus.export(path) { [unowned self] invocation in
        switch invocation.member {
        case "Echo": invocation.reply(invocation.arguments)
        case "Refuse": invocation.refuse(BusError("org.example.Error.No", "not today"))
        case "Forget": break
        default: kept.append(invocation)
        }
      }
      let answer = try await bus.call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
        [.string(name), .uint32(0)])
      #expect(answer == [.uint32(1)])
    }
  }

  private func error(_ body: () async throws(BusError) -> [BusValue]) async -> BusError? {
    do throws(BusError) { _ = try await body() } catch { return error }
    return nil
  }

  // MARK: Values

  @Test func `Values of every type arrive as they were sent`() async throws {
    let bus = try TestBus()
    try await onLoop { reactor in
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      let client = try BusConnection(bus.path, on: reactor)
      let options = BusValue.properties([
        "Name": .string("profile"), "Channel": .uint16(22), "Flags": .array(of: "s", []),
      ])
      let values: [BusValue] = [
        .byte(255), .boolean(true), .boolean(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(-0.5), .string("Jäger 😀"), .string(""), .objectPath("/a/b_1"),
        .signature("a{sv}"), .array(of: "s", []), .array(of: "ay", [.array(of: "y", [.byte(1), .byte(2)])]),
        .structure([.string("x"), .structure([.int32(1)])]), .variant(.variant(.structure([.byte(3)]))), options,
      ]
      #expect(try await client.call(service, path, interface, "Echo", values) == values)
      #expect(try await client.call(service, path, interface, "Echo") == [])
      #expect(options.properties?["Channel"] == .uint16(22) && options.properties?.count == 3)
      #expect(BusValue.string("").properties == nil)
      withExtendedLifetime(server) {}
    }
  }

  @Test func `A descriptor passes, and is the receiver's own`() async throws {
    let bus = try TestBus()
    try await onLoop { reactor in
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      let client = try BusConnection(bus.path, on: reactor)
      var ends: [CInt] = [0, 0]
      try #require(pipe(&ends) == 0)
      #expect(write(ends[1], "hi", 2) == 2)
      close(ends[1])
      let sent = BusDescriptor(Descriptor(owning: ends[0]))
      let early = await error { () throws(BusError) in
        try await client.call(service, path, interface, "Echo", [.descriptor(sent)])
      }
      #expect(early == .notSent)
      _ = try await client.call(service, path, interface, "Echo")
      let answer = try await client.call(service, path, interface, "Echo", [.descriptor(sent)])
      guard case .descriptor(let received)? = answer.first else { throw BusError.invalidArguments }
      #expect(received.number != sent.number)
      let own = try received.duplicate()
      var bytes: [UInt8] = [0, 0, 0]
      #expect(read(own.number, &bytes, 3) == 2 && bytes == [0x68, 0x69, 0])
      withExtendedLifetime(server) {}
    }
  }

  @Test func `Content that no message may have is an error of its call, and not of the process`() async throws {
    let bus = try TestBus()
    try await onLoop { reactor in
      let client = try BusConnection(bus.path, on: reactor)
      for (service, path, interface, member) in [
        ("", path, interface, "Echo"), (service, "org/example", interface, "Echo"), (service, path, "example", "Echo"),
        (service, path, interface, "An echo"), (service, "", "", ""),
      ] {
        #expect(
          await error { () throws(BusError) in try await client.call(service, path, interface, member) }
            == .invalidArguments)
      }
      let deep = (0..<40).reduce(BusValue.byte(0)) { value, _ in .array(of: value.signature, [value]) }
      for value: BusValue in [
        .objectPath("thing"), .signature("a"), .array(of: "s", [.byte(1)]), .array(of: "!", []), .structure([]),
        .entry(.string("a"), .byte(1)), .array(of: "{vs}", []), .variant(.entry(.byte(1), .byte(1))), deep,
        .structure([.variant(.array(of: "o", [.objectPath("/a/")]))]),
      ] {
        #expect(
          await error { () throws(BusError) in try await client.call(service, path, interface, "Echo", [value]) }
            == .invalidArguments, "\(value)")
      }
      #expect(throws: BusError.invalidArguments) { try client.emit(path, interface, "", []) }
    }
  }

  // MARK: Calls

  @Test func `A call that is refused, forgotten or not answered ends with its error, and the next one is answered`()
    async throws
  {
    let bus = try TestBus()
    try await onLoop { reactor in
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      let client = try BusConnection(bus.path, on: reactor)
      func failure(_ member: String, at path: String, within time: Duration = .seconds(10)) async -> BusError? {
        await error { () throws(BusError) in try await client.call(service, path, interface, member, within: time) }
      }
      #expect(await failure("Refuse", at: path) == BusError("org.example.Error.No", "not today"))
      #expect(await failure("Forget", at: path)?.name == "org.freedesktop.DBus.Error.Failed")
      #expect(await failure("Keep", at: path, within: .milliseconds(50)) == .timedOut)
      #expect(await failure("Echo", at: "/elsewhere")?.name.hasPrefix("org.freedesktop.DBus.Error.Unknown") == true)
      // Late, and twice.
      for invocation in server.kept { for _ in 0..<2 { invocation.reply([.byte(1)]) } }
      #expect(try await client.call(service, path, interface, "Echo", [.byte(2)]) == [.byte(2)])
      server.bus.withdraw(path)
      #expect(await failure("Echo", at: path)?.name.hasPrefix("org.freedesktop.DBus.Error.Unknown") == true)
    }
  }

  @Test func `A call fails at once while too many others wait`() async throws {
    let bus = try TestBus()
    try await onLoop { reactor in
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      let client = try BusConnection(bus.path, on: reactor)
      for _ in 0..<255 { client.call(service, path, interface, "Keep") { _ in } }
      #expect(
        await error { () throws(BusError) in
          try await client.call(service, path, interface, "Keep", within: .seconds(600))
        } == .overloaded)
      withExtendedLifetime(server) {}
    }
  }

  // MARK: Services

  @Test func `A service is followed as it comes and goes, and signals that others send in its name do not count`()
    async throws
  {
    let bus = try TestBus()
    try await onLoop { reactor in
      let client = try BusConnection(bus.path, on: reactor)
      let (events, feed) = AsyncStream.makeStream(of: BusServiceEvent.self)
      var iterator = events.makeAsyncIterator()
      client.follow(service) { feed.yield($0) }
      #expect(await iterator.next() == .stopped)
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      #expect(await iterator.next() == .started)
      let owner = try #require(client.owner(of: service))
      // The name of the client's own connection, to which anybody may send.
      client.call(service, path, interface, "Keep") { _ in }
      while server.kept.isEmpty { _ = try await client.call(service, path, interface, "Echo") }
      let name = server.kept[0].sender
      let stranger = try BusConnection(bus.path, on: reactor)
      try stranger.emit(path, interface, "Changed", [.byte(1)], to: name)
      _ = try await stranger.call(name, "/", "org.freedesktop.DBus.Peer", "Ping")
      try server.bus.emit(path, interface, "Changed", [.byte(2)])
      let signal = BusSignal(path: path, interface: interface, member: "Changed", arguments: [.byte(2)])
      #expect(await iterator.next() == .signal(signal))
      #expect(owner != name && owner.hasPrefix(":"))
      server.bus.close()
      #expect(await iterator.next() == .stopped)
      #expect(client.owner(of: service) == nil)
      client.unfollow(service)
      let again = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      _ = try await client.call(service, path, interface, "Echo")
      feed.finish()
      #expect(await iterator.next() == nil)
      withExtendedLifetime(again) {}
    }
  }

  // MARK: The bus

  /// A socket that connections may be made with.
  private func listener(at path: String) throws -> CInt {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(socket, 1) == 0)
    return socket
  }

  @Test func `When the bus ends, waiting calls fail, its owner is notified, and later calls fail`() async throws {
    let bus = try TestBus()
    try await onLoop { reactor in
      let server = try await Service(service, at: path, BusConnection(bus.path, on: reactor))
      let client = try BusConnection(bus.path, on: reactor)
      var ending: BusError?
      client.onEnd = { ending = $0 }
      let (answers, feed) = AsyncStream.makeStream(of: BusConnection.Answer.self)
      client.call(service, path, interface, "Keep", within: .seconds(600)) { feed.yield($0) }
      while server.kept.isEmpty { _ = try await client.call(service, path, interface, "Echo") }
      bus.stop()
      var iterator = answers.makeAsyncIterator()
      #expect(await iterator.next() == .failure(.disconnected))
      #expect(ending == .disconnected)
      #expect(
        await error { () throws(BusError) in try await client.call(service, path, interface, "Echo") } == .disconnected)
      client.close()
    }
  }

  @Test func `If the bus refuses the connection, each call fails with that, before the end and after it`()
    async throws
  {
    let folder = TemporaryFolder()
    let socket = try listener(at: "\(folder.path)/bus")
    defer { close(socket) }
    try await onLoop { reactor in
      let client = try BusConnection("\(folder.path)/bus", on: reactor)
      close(accept(socket, nil, nil))
      for _ in 0..<2 {
        #expect(
          await error { () throws(BusError) in try await client.call(service, path, interface, "Echo") } == .refused)
      }
    }
  }

  @Test func `The loop runs on while a bus says nothing, and the call ends by time`() async throws {
    let folder = TemporaryFolder()
    let socket = try listener(at: "\(folder.path)/bus")
    defer { close(socket) }
    try await onLoop { reactor in
      let client = try BusConnection("\(folder.path)/bus", on: reactor)
      var turns = 0
      func tick() {
        turns += 1
        reactor.schedule(after: .milliseconds(5)) { tick() }
      }
      tick()
      let answer = await error { () throws(BusError) in
        try await client.call(service, path, interface, "Echo", within: .milliseconds(200))
      }
      #expect(answer == .timedOut && turns > 10)
    }
  }

  @Test func `A path without a bus is an error at once`() async throws {
    let folder = TemporaryFolder()
    try await onLoop { reactor in
      #expect(throws: BusError.self) { _ = try BusConnection("\(folder.path)/none", on: reactor) }
    }
  }
}
