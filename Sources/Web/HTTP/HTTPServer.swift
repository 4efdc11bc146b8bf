internal import CMicroHTTPD
internal import CReceive
internal import Glibc
internal import Reactor

/// HTTP by libmicrohttpd, which has no thread: it runs on this package's loop, which polls its descriptor.
///
/// Invariants:
/// - Every callback comes from within `MHD_run` or `MHD_add_connection`, on the loop.
/// - The library is run from the loop alone, never from within its callbacks: those use `scheduleTurn`.
/// - The library reads no byte of a client but content: while it runs, its `recv` of a client's socket is
///   `HTTPConnection.read`, and in a tunnel the same `RequestReader` stands before the socket pair. A request that no
///   reader has passed on is refused.
/// - If the library asks for a turn at once and has done nothing, that turn comes later: it cannot keep the loop busy.
final class HTTPServer: ExchangeServer {
  let limits: WebLimits
  let meter: WebMeter
  /// The pace of a body that begins.
  let pace: Pace
  private let idleSeconds: CUnsignedInt
  private let idleNanoseconds: UInt64
  private let reactor: Reactor
  private let handler: any WebHandler
  private let scratch: ScratchBuffer
  /// Nil once it is closed.
  private var daemon: OpaquePointer?
  private var polling: Registration?
  private var alarm: Timer?
  private var sweep: Timer?
  private var turnIsDue = false
  /// Connections by their descriptors.
  private var connections: [CInt: HTTPConnection] = [:]
  /// The number of the library's steps, and the number of turns in a row that it asked for and in which it did nothing.
  private var stepCount = 0
  private var idleTurns = 0
  private var responsesUnderWay = 0
  /// Exchanges whose responses have more to be written.
  private var woken: ArraySlice<Exchange> = []
  /// Watches of connections that were ever suspended: they detect that the client has gone; the library would not.
  private var watches: [OpaquePointer: Registration] = [:]

  /// Takes a connection that becomes a WebSocket: the bytes that its client has still to get, and the bytes that the
  /// client has already sent.
  var upgraded: (SocketGrant, Transport, _ unsent: [UInt8], _ bytes: [UInt8], Admission) -> Void = { _, _, _, _, _ in }

  private var date = DateHeader(at: 0)

  /// A second is little beside the times that the sweep checks.
  private static let sweepInterval: Duration = .seconds(1)
  /// The library's memory for each connection: a short request, the pieces in which it reads bodies, and a response's
  /// head. The library writes zeros over all of it after each request.
  private static let connectionBytes = 16 << 10
  /// Some idle turns pass while a response waits for room.
  private static let idleTurnsMax = 16
  private static let idleTurnPause: Duration = .milliseconds(100)
  /// An event for a thousand event streams is written in some dozens of turns, so that others need not wait for it.
  private static let wakesPerTurnMax = 16

  init(on reactor: Reactor, _ handler: any WebHandler, _ limits: WebLimits, _ scratch: ScratchBuffer, _ meter: WebMeter)
  {
    precondition(creceive_is_in_place(), "libmicrohttpd would read past the reader of requests")
    self.reactor = reactor
    self.meter = meter
    self.scratch = scratch
    self.handler = handler
    self.limits = limits
    pace = Pace(limits)
    idleSeconds = CUnsignedInt(limits.idleTime.components.seconds)
    idleNanoseconds = UInt64(limits.idleTime.nanoseconds)
    let context = Unmanaged.passUnretained(self).toOpaque()
    // Front limits the number of connections; the library's own limit only must not be less.
    daemon = CMicroHTTPD_start(
      CUnsignedInt(limits.connectionsMax + 1), Self.connectionBytes,
      idleSeconds, requestAccessed, requestCompleted, connectionChanged,
      requestBegan, context)
    guard let daemon else { fatalError("libmicrohttpd does not start: \(SystemError("start", code: errno))") }
    do throws(SystemError) {
      polling = try Descriptor.lent(CMicroHTTPD_poll_descriptor(daemon)) { (poll) throws(SystemError) in
        try reactor.register(poll, for: .readable) { [unowned self] _ in scheduleTurn() }
      }
    } catch {
      fatalError("libmicrohttpd cannot be watched: \(error)")
    }
    setSweep()
  }

  /// Serves a connection whose first head is valid.
  func take(
    _ socket: consuming Descriptor, reading reader: RequestReader, _ admission: Admission, _ bypass: Bypass? = nil
  ) {
    guard let daemon else { return }
    let number = socket.release()
    connections[number] = HTTPConnection(reader, admission, bypass)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    // The library requires an address and does not use it: its reader knows the client. Where the call fails, the
    // library closes the socket all the same.
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        MHD_add_connection(daemon, number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == .NO { connections[number] = nil }
    scheduleTurn()
  }

  /// Ends all connections at once.
  func close() {
    guard let daemon = daemon.take() else { return }
    for connection in connections.values { connection.exchange?.abort() }
    if let alarm { reactor.cancel(alarm) }
    if let sweep { reactor.cancel(sweep) }
    if let polling { reactor.deregister(polling) }
    run(daemon)
    MHD_stop_daemon(daemon)
    for watch in watches.values { reactor.deregister(watch) }
    watches = [:]
    woken = []
  }

  var requestsUnderWay: Int { connections.values.count { $0.exchange != nil } }
  /// The number of connections without a request so far.
  var newConnectionCount: Int { connections.values.count { $0.requestCount == 0 } }

  func refusal(_ fault: WebFault, _ head: Head?) -> Response { handler.refuse(fault, head) }

  // MARK: Turns

  fileprivate func scheduleTurn() {
    if turnIsDue { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      turn()
    }
  }

  private func turn() {
    guard let daemon else { return }
    let stepsBefore = stepCount
    // Exchanges that resume do so in this turn, and ask for no other.
    turnIsDue = true
    for _ in 0..<Self.wakesPerTurnMax { woken.popFirst()?.resumeAfterWake() }
    turnIsDue = false
    run(daemon)
    if let alarm { reactor.cancel(alarm) }
    alarm = nil
    var milliseconds: CUnsignedLongLong = 0
    let wantsTurn = MHD_get_timeout(daemon, &milliseconds) == .YES
    if !woken.isEmpty { return setAlarm(after: .zero) }
    guard wantsTurn else { return }
    let isIdle = milliseconds == 0 && stepCount == stepsBefore && responsesUnderWay == 0
    idleTurns = isIdle ? idleTurns + 1 : 0
    var pause = Duration.milliseconds(Int64(min(milliseconds, 60_000)))
    if idleTurns > Self.idleTurnsMax {
      meter.idleTurns += 1
      pause = Self.idleTurnPause
    }
    // A timer is used even for now, so that others have their turn first.
    setAlarm(after: pause)
  }

  private func setAlarm(after pause: Duration) {
    alarm = reactor.schedule(after: pause) { [unowned self] in
      alarm = nil
      turn()
    }
  }

  /// Resumes the exchange in one of the next turns.
  func wake(_ exchange: Exchange) {
    woken.append(exchange)
    scheduleTurn()
  }

  private func run(_ daemon: OpaquePointer) {
    creceive_divert(clientRead, Unmanaged.passUnretained(self).toOpaque())
    MHD_run(daemon)
    creceive_divert(nil, nil)
  }

  /// Reads for the library, in place of the system's `recv`.
  fileprivate func read(_ descriptor: CInt, _ room: UnsafeMutableRawBufferPointer) -> Int {
    let connection = connections[descriptor]
    let count =
      if let connection, connection.readsClient {
        connection.read(descriptor, into: room, scratch)
      } else {
        creceive_plain(descriptor, room.baseAddress, room.count)
      }
    if count >= 0 { stepCount += 1 }
    return count
  }

  /// Cuts idle and slow connections.
  private func setSweep() {
    sweep = reactor.schedule(after: Self.sweepInterval) { [unowned self] in
      let now = Reactor.now
      for (descriptor, connection) in connections {
        if connection.checkTimeout(idleNanoseconds, at: now, hasClosed: { Self.hasPeerClosed(descriptor) }) {
          Descriptor.lent(descriptor) { $0.cut() }
        }
      }
      setSweep()
    }
  }

  func suspend(_ connection: OpaquePointer) {
    MHD_suspend_connection(connection)
    watch(connection)
  }

  func resume(_ connection: OpaquePointer) {
    MHD_resume_connection(connection)
    scheduleTurn()
  }

  func setIdleTimeout(of connection: OpaquePointer, isOn: Bool) {
    CMicroHTTPD_set_idle_time(connection, isOn ? idleSeconds : 0)
  }

  /// Watches whether the client leaves while the library does not.
  private func watch(_ connection: OpaquePointer) {
    if let known = watches[connection] { return reactor.update(known, to: [.readable, .once]) }
    let descriptor = CMicroHTTPD_descriptor(connection)
    // If it cannot be watched, the client's leaving is seen at the next write.
    watches[connection] = Descriptor.lent(descriptor) { socket in
      try? reactor.register(socket, for: [.readable, .once]) { [unowned self] _ in
        checkForClose(of: connection, descriptor)
      }
    }
  }

  private func checkForClose(of connection: OpaquePointer, _ descriptor: CInt) {
    guard let exchange = served(connection)?.exchange, exchange.isSuspended, Self.hasPeerClosed(descriptor) else {
      return
    }
    exchange.abort()
  }

  /// Whether the peer has closed and all of its bytes are read.
  private static func hasPeerClosed(_ descriptor: CInt) -> Bool {
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

  private func served(_ connection: OpaquePointer) -> HTTPConnection? {
    guard let context = CMicroHTTPD_socket_context(connection) else { return nil }
    // It is kept in `connections` from the beginning of the connection to its end.
    return Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: From the library

  fileprivate func connected(_ connection: OpaquePointer) -> HTTPConnection? {
    stepCount += 1
    return connections[CMicroHTTPD_descriptor(connection)]
  }

  fileprivate func disconnected(_ connection: OpaquePointer) {
    stepCount += 1
    if let watch = watches.removeValue(forKey: connection) { reactor.deregister(watch) }
    let descriptor = CMicroHTTPD_descriptor(connection)
    if let served = connections.removeValue(forKey: descriptor) { linger(descriptor, served) }
  }

  /// Lingering close of a connection whose request was answered before all of it came: input after the close would make
  /// the kernel reset the connection, and the response could be lost. The library closes its own descriptor now. A
  /// tunnel lingers by itself.
  private func linger(_ descriptor: CInt, _ served: HTTPConnection) {
    guard daemon != nil, served.readsClient, served.reader.isWithinRequest else { return }
    Descriptor.lent(descriptor) { socket in
      guard let own = try? socket.duplicate() else { return }
      let transport = Transport(own)
      transport.endSending()
      LingeringClose([], to: transport, served.admission, on: reactor, scratch)
    }
  }

  fileprivate func beginRequest(_ connection: OpaquePointer, _ served: HTTPConnection) -> MHD_Result {
    stepCount += 1
    if served.toggleNudge() {
      // The library calls again in its next turn, and assumes that there is something to read.
      MHD_suspend_connection(connection)
      MHD_resume_connection(connection)
      scheduleTurn()
      return .YES
    }
    var head: Head?
    do throws(WebFault) {
      let sound = try served.nextHead { (head) throws(WebFault) in try handler.read(head) }
      head = sound
      if sound.wantsWebSocket { return try upgrade(sound, served, on: connection) }
      let exchange = Exchange(sound, served.headContext, connection, served.bypass, of: self)
      served.exchange = exchange
      handler.begin(exchange)
      return exchange.start()
    } catch {
      return queue(handler.refusal(of: error, head), for: nil, on: connection)
    }
  }

  fileprivate func continueRequest(
    _ exchange: Exchange, of served: HTTPConnection, _ body: UnsafeRawBufferPointer, _ left: inout Int
  ) -> MHD_Result {
    stepCount += 1
    if body.isEmpty, let fault = served.fault { exchange.fail(fault) }
    return exchange.proceed(body, &left)
  }

  fileprivate func finishRequest(_ served: HTTPConnection, isComplete: Bool) {
    stepCount += 1
    if served.hasResponse { responsesUnderWay -= 1 }
    served.finishRequest(isComplete: isComplete)
  }

  // MARK: WebSockets

  /// The library sends the client the upgrade response, behind all earlier responses, and releases the connection.
  private func upgrade(
    _ head: Head, _ served: HTTPConnection, on connection: OpaquePointer
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

  /// The library has read nothing behind the head, since it was given nothing.
  fileprivate func upgraded(_ served: HTTPConnection, _ descriptor: CInt) {
    guard let grant = served.grant else { return }
    let rest = served.reader.takeRest()
    if let bypass = served.bypass {
      guard let handover = bypass.takeOver() else { return }
      upgraded(grant, handover.transport, handover.unsent, rest, served.admission)
    } else {
      Descriptor.lent(descriptor) { socket in
        guard let own = try? socket.duplicate() else { return }
        // The library has left small writes delayed (Nagle's algorithm).
        try? own.sendSmallWritesAtOnce()
        upgraded(grant, Transport(own), [], rest, served.admission)
      }
    }
  }

  // MARK: Responses

  func queue(_ response: Response, for exchange: Exchange?, on connection: OpaquePointer) -> MHD_Result {
    let served = served(connection)
    if let exchange, served?.admission.hasRoom(forAnswerOf: response.bytesInMemory) == false {
      var refusal = refusal(
        WebFault(503, "Too many bytes of responses wait for their clients: retry in a moment, or request less."),
        exchange.head)
      refusal.headers.append("Retry-After", "1")
      return queue(refusal, for: exchange, on: connection)
    }
    let isLast = response.closes || served?.requestCount ?? 0 >= limits.requestsPerConnectionMax
    // A response that is used again stays as it is.
    guard let prepared = (isLast ? nil : served?.prepared(as: response)) ?? PreparedResponse(response, for: exchange)
    else {
      guard let exchange, case .file = response.body else { return .NO }
      var refusal = refusal(
        WebFault(503, "No file descriptor is free for sending the file: retry in a moment."), exchange.head)
      refusal.headers.append("Retry-After", "1")
      return queue(refusal, for: exchange, on: connection)
    }
    served?.admission.reserve(answerBytes: response.bytesInMemory)
    // Before the date: with a `Connection` header, the library forgets that there is a date, and adds its own.
    if isLast { prepared.close() } else { served?.keep(prepared) }
    date.update()
    prepared.date(date)
    meter.bodyBytesOut += response.knownByteCount
    if let exchange {
      exchange.traffic?.bytesSent += response.knownByteCount
      handler.responded(to: exchange, with: response.status)
    } else {
      meter.refused(with: response.status)
    }
    if let served, !served.hasResponse {
      served.hasResponse = true
      responsesUnderWay += 1
    }
    return MHD_queue_response(connection, CUnsignedInt(response.status), prepared.handle)
  }
}

/// The server outlives its daemon.
private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer {
  Unmanaged<HTTPServer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
}

/// A request's context is its connection, which serves one request at a time and is kept until after its last.
private func served(_ context: UnsafeMutableRawPointer) -> HTTPConnection {
  Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
}

private func requestBegan(
  _: UnsafeMutableRawPointer?, _: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  connection.flatMap { CMicroHTTPD_socket_context($0) }
}

private func requestAccessed(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _: UnsafePointer<CChar>?,
  _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ bytes: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let count, let known = request?.pointee else { return .NO }
  let served = served(known)
  guard let exchange = served.exchange else { return server(context).beginRequest(connection, served) }
  let body = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count.pointee)
  return server(context).continueRequest(exchange, of: served, body, &count.pointee)
}

private func connectionUpgraded(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _ request: UnsafeMutableRawPointer?,
  _: UnsafePointer<CChar>?, _: Int, _ descriptor: CInt, _ upgraded: OpaquePointer?
) {
  guard let request else { return }
  server(context).upgraded(served(request), descriptor)
  // The library releases the connection in its next turn.
  CMicroHTTPD_forget_upgraded(upgraded)
  server(context).scheduleTurn()
}

private func requestCompleted(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?,
  _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
  guard let known = request?.pointee else { return }
  request?.pointee = nil
  server(context).finishRequest(served(known), isComplete: code == .REQUEST_TERMINATED_COMPLETED_OK)
}

private func clientRead(
  _ context: UnsafeMutableRawPointer?, _ descriptor: CInt, _ room: UnsafeMutableRawPointer?, _ count: Int
) -> Int {
  server(context).read(descriptor, UnsafeMutableRawBufferPointer(start: room, count: count))
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
