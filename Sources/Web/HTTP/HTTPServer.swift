internal import CMicroHTTPD
internal import Glibc
internal import Reactor

/// HTTP by libmicrohttpd, run from our loop: its poll lies in ours, and it has no thread.
///
/// Laws:
/// - Every callback comes from within `MHD_run` or `MHD_add_connection`, on the loop.
/// - It is run from the loop alone, never from within what it tells: `askForTurn` is the way.
/// - The library checks little of what it reads; each head passes `Head.init` before the handler hears of it.
final class HTTPServer {
  let limits: WebLimits
  let meter: WebMeter
  /// Of a body that begins.
  let pace: Pace
  let idleSeconds: CUnsignedInt
  private let idleNanoseconds: UInt64
  private let reactor: Reactor
  private let handler: any WebHandler
  /// Nil once it is closed.
  private var daemon: OpaquePointer?
  private var polling: Registration?
  private var alarm: Timer?
  private var sweep: Timer?
  private var turnIsDue = false
  /// Those that are about to be told by their descriptors.
  private var arriving: [CInt: Connection] = [:]
  private var connections: [ObjectIdentifier: (connection: Connection, descriptor: CInt)] = [:]
  /// By the connections that were ever suspended: tells that the client has gone, which the library would not see.
  private var watches: [OpaquePointer: Registration] = [:]

  /// Takes a connection that goes on as a WebSocket: what still has to go to its client, and what that has sent already.
  var upgraded: (SocketGrant, Transport, _ said: [UInt8], _ bytes: [UInt8], Admission) -> Void = { _, _, _, _, _ in }

  private var date = DateHeader(at: 0)

  /// A second is little beside what it watches over.
  private static let sweepInterval: Duration = .seconds(1)
  /// What it keeps for each connection beside the head: its own state, and the pieces in which it reads bodies. It writes
  /// zeros over all of it after each request.
  private static let extraMemory = 8 << 10

  init(on reactor: Reactor, _ handler: any WebHandler, _ limits: WebLimits, _ meter: WebMeter) {
    self.reactor = reactor
    self.meter = meter
    self.handler = handler
    self.limits = limits
    pace = Pace(limits)
    idleSeconds = CUnsignedInt(limits.idleTime.components.seconds)
    idleNanoseconds = UInt64(limits.idleTime.nanoseconds)
    let context = Unmanaged.passUnretained(self).toOpaque()
    // Front counts connections; the library's own limit only must not be less.
    daemon = CMicroHTTPD_start(
      CUnsignedInt(limits.connectionsMax + 1), limits.headBytesMax + Self.extraMemory,
      idleSeconds, requestAccessed, requestCompleted, connectionChanged,
      requestBegan, context)
    guard let daemon else { fatalError("libmicrohttpd does not start: \(SystemError("start", code: errno))") }
    do throws(SystemError) {
      polling = try Descriptor.lent(CMicroHTTPD_poll_descriptor(daemon)) { (poll) throws(SystemError) in
        try reactor.register(poll, for: .readable) { [unowned self] _ in askForTurn() }
      }
    } catch {
      fatalError("libmicrohttpd cannot be watched: \(error)")
    }
    setSweep()
  }

  /// Serves a connection whose first head is sound.
  func take(_ socket: consuming Descriptor, from origin: Origin, _ admission: Admission, _ bypass: Bypass? = nil) {
    guard let daemon else { return }
    let number = socket.release()
    arriving[number] = Connection(origin, admission, bypass)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    // The address is asked for and not used: who the client is, its `Connection` says. Where it fails, the socket is
    // closed by the library all the same.
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = MHD_add_connection(daemon, number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    arriving[number] = nil
    askForTurn()
  }

  /// Ends all connections at once.
  func close() {
    guard let daemon = daemon.take() else { return }
    for (connection, _) in connections.values { connection.exchange?.leave() }
    if let alarm { reactor.cancel(alarm) }
    if let sweep { reactor.cancel(sweep) }
    if let polling { reactor.deregister(polling) }
    MHD_run(daemon)
    MHD_stop_daemon(daemon)
    for watch in watches.values { reactor.deregister(watch) }
    watches = [:]
  }

  var requestsUnderWay: Int { connections.values.count { $0.connection.exchange != nil } }

  func refusal(_ fault: WebFault, _ head: Head?) -> Response { handler.refuse(fault, head) }

  // MARK: Turns

  func askForTurn() {
    if turnIsDue { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      turn()
    }
  }

  private func turn() {
    guard let daemon else { return }
    MHD_run(daemon)
    if let alarm { reactor.cancel(alarm) }
    alarm = nil
    var milliseconds: CUnsignedLongLong = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return }
    // By a timer also where it is now: so the others have their turn first.
    alarm = reactor.schedule(after: .milliseconds(Int64(min(milliseconds, 60_000)))) { [unowned self] in
      alarm = nil
      turn()
    }
  }

  /// Cuts those that keep a connection and do not use it.
  private func setSweep() {
    sweep = reactor.schedule(after: Self.sweepInterval) { [unowned self] in
      let now = Reactor.now
      for (connection, descriptor) in connections.values {
        if connection.isOver(idleNanoseconds, at: now, hasLeft: { Self.hasLeft(descriptor) }) {
          Descriptor.lent(descriptor) { $0.cut() }
        }
      }
      setSweep()
    }
  }

  /// Looks whether the client leaves while the library does not.
  func watch(_ connection: OpaquePointer) {
    if let known = watches[connection] { return reactor.update(known, to: [.readable, .once]) }
    let descriptor = CMicroHTTPD_descriptor(connection)
    // Where it cannot be watched, the client's leaving is seen when it is written to.
    watches[connection] = Descriptor.lent(descriptor) { socket in
      try? reactor.register(socket, for: [.readable, .once]) { [unowned self] _ in
        looked(at: connection, descriptor)
      }
    }
  }

  private func looked(at connection: OpaquePointer, _ descriptor: CInt) {
    guard let exchange = served(connection)?.exchange, exchange.isSuspended, Self.hasLeft(descriptor) else { return }
    exchange.leave()
  }

  /// Whether there is nothing to read any more, and never will be.
  private static func hasLeft(_ descriptor: CInt) -> Bool {
    var byte: UInt8 = 0
    return withUnsafeMutableBytes(of: &byte) { room in
      Descriptor.lent(descriptor) { socket in
        do throws(SystemError) {
          return try socket.peek(room) == 0
        } catch {
          return true
        }
      }
    }
  }

  private func served(_ connection: OpaquePointer) -> Connection? {
    guard let context = CMicroHTTPD_socket_context(connection) else { return nil }
    // Kept in `connections` from the beginning of the connection to its end.
    return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: What the library tells

  fileprivate func connected(_ connection: OpaquePointer) -> Connection? {
    let descriptor = CMicroHTTPD_descriptor(connection)
    guard let served = arriving.removeValue(forKey: descriptor) else { return nil }
    connections[ObjectIdentifier(served)] = (served, descriptor)
    return served
  }

  fileprivate func disconnected(_ connection: OpaquePointer) {
    if let watch = watches.removeValue(forKey: connection) { reactor.deregister(watch) }
    if let served = served(connection) { connections[ObjectIdentifier(served)] = nil }
  }

  fileprivate func accessed(
    _ connection: OpaquePointer, _ served: Connection, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>
  ) -> MHD_Result {
    var head: Head?
    do throws(WebFault) {
      let sound = try served.head(of: connection, method, version) { (head) throws(WebFault) in try handler.read(head) }
      head = sound
      if sound.wantsWebSocket { return try upgrade(sound, served, on: connection) }
      let exchange = Exchange(sound, served.note, connection, served.bypass, of: self)
      served.exchange = exchange
      handler.begin(exchange)
      return exchange.hasBegun()
    } catch {
      return queue(handler.refusal(of: error, head), for: nil, on: connection)
    }
  }

  // MARK: WebSockets

  /// The library says to the client that it is granted, behind all that it said before, and lets go of the connection.
  private func upgrade(
    _ head: Head, _ served: Connection, on connection: OpaquePointer
  ) throws(WebFault) -> MHD_Result {
    if let fault = head.upgradeFault { throw fault }
    switch handler.upgrade(head) {
    case .refuse(var response):
      response.closes = true
      return queue(response, for: nil, on: connection)
    case .accept(let subprotocol, let owner, let reading):
      let grant = SocketGrant(head, subprotocol, owner, reading)
      let context = Unmanaged.passUnretained(self).toOpaque()
      guard let response = MHD_create_response_for_upgrade(connectionUpgraded, context) else { return .NO }
      defer { MHD_destroy_response(response) }
      for field in grant.headers.fields { MHD_add_response_header(response, field.name, field.value) }
      served.grant = grant
      return MHD_queue_response(connection, 101, response)
    }
  }

  /// What the library has read of the client is behind its head.
  fileprivate func upgraded(_ served: Connection, _ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) {
    guard let grant = served.grant.take() else { return }
    Descriptor.lent(descriptor) { socket in
      if let bypass = served.bypass {
        let bytes = Array(bytes) + Self.unread(of: socket)
        guard let handover = bypass.takeOver() else { return }
        upgraded(grant, handover.transport, handover.unsent, bytes + handover.unread, served.admission)
      } else if let own = try? socket.duplicate() {
        // The library has left small writes to be gathered.
        try? own.sendSmallWritesAtOnce()
        upgraded(grant, Transport(own), [], Array(bytes), served.admission)
      }
    }
  }

  /// What waits in our end of a tunnel's pair, which holds no more than the system lets it.
  private static func unread(of socket: borrowing Descriptor) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      var count: Int?
      let more = [UInt8](unsafeUninitializedCapacity: 16 << 10) { room, initialized in
        count = (try? socket.receive(UnsafeMutableRawBufferPointer(room))) ?? nil
        initialized = count ?? 0
      }
      guard let count, count > 0 else { return bytes }
      bytes += more
    }
  }

  // MARK: Responses

  func queue(_ response: Response, for exchange: Exchange?, on connection: OpaquePointer) -> MHD_Result {
    let served = served(connection)
    if let exchange, served?.admission.hasRoom(forAnswerOf: response.bytesInMemory) == false {
      var refusal = refusal(
        WebFault(503, "Answers of many bytes wait to be read by their clients: ask again in a moment, or for less."),
        exchange.head)
      refusal.headers.append("Retry-After", "1")
      return queue(refusal, for: exchange, on: connection)
    }
    served?.admission.hold(answerOf: response.bytesInMemory)
    let isLast = response.closes || served?.requestCount ?? 0 >= limits.requestsPerConnectionMax
    guard let answer = served?.answer(as: response) ?? Answer(response, for: exchange) else { return .NO }
    date.update()
    answer.date(date)
    meter.bodyBytesOut += response.knownByteCount
    if let exchange {
      handler.answered(exchange, with: response.status)
    } else {
      meter.refused(with: response.status)
    }
    if isLast { answer.close() } else { served?.answered(with: answer) }
    return MHD_queue_response(connection, CUnsignedInt(response.status), answer.made)
  }
}

/// The server outlives its daemon.
private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer {
  Unmanaged<HTTPServer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
}

/// A request's context is its connection, which serves one at a time, and which the server keeps until after its last.
private func served(_ context: UnsafeMutableRawPointer) -> Connection {
  Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
}

private func requestBegan(
  _: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let connection, let target, let context = CMicroHTTPD_socket_context(connection) else { return nil }
  served(context).begins(target)
  return context
}

private func requestAccessed(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let method, let version, let count, let known = request?.pointee else { return .NO }
  let served = served(known)
  if let exchange = served.exchange {
    let body = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count.pointee)
    return exchange.proceed(body, &count.pointee)
  }
  return server(context).accessed(connection, served, method, version)
}

private func connectionUpgraded(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _ request: UnsafeMutableRawPointer?,
  _ bytes: UnsafePointer<CChar>?, _ count: Int, _ descriptor: CInt, _ upgraded: OpaquePointer?
) {
  guard let request else { return }
  server(context).upgraded(
    served(request), descriptor, UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  // It does so in its next turn.
  CMicroHTTPD_forget_upgraded(upgraded)
  server(context).askForTurn()
}

private func requestCompleted(
  _: UnsafeMutableRawPointer?, _: OpaquePointer?,
  _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
  guard let known = request?.pointee else { return }
  request?.pointee = nil
  served(known).completed(isComplete: code == .REQUEST_TERMINATED_COMPLETED_OK)
}

private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
  guard let connection else { return }
  if code == .CONNECTION_NOTIFY_STARTED {
    socketContext?.pointee = server(context).connected(connection).map { Unmanaged.passUnretained($0).toOpaque() }
  } else {
    server(context).disconnected(connection)
    socketContext?.pointee = nil
  }
}
