internal import CMicroHTTPD
internal import Notation
internal import Reactor

@testable internal import Web

/// A request without a connection: its handler is called as the HTTP server calls it. It belongs to the loop.
final class MemoryRequest: ExchangeServer {
  let meter = WebMeter()
  let pace = Pace(WebLimits())
  private let handler: any WebHandler
  private let reactor: Reactor
  /// The exchange; nil once it is answered, or the client has left.
  private var exchange: Exchange?
  /// The bytes that the client has sent and the handler has not read.
  private var unread: [UInt8]
  private var isWhole: Bool
  private var isSuspended = false
  private var turnIsDue = false
  private(set) var answer: Answer?

  /// Sends the head and a part of the body.
  init(_ head: Head, body: [UInt8], isWhole: Bool, to handler: any WebHandler, on reactor: Reactor) throws {
    (self.handler, self.reactor) = (handler, reactor)
    (unread, self.isWhole) = (body, isWhole)
    // A name for it: nothing reads what is there.
    guard let connection = OpaquePointer(bitPattern: 1) else { preconditionFailure("1 is no null pointer") }
    let exchange = Exchange(try handler.read(head), HeadContext(), connection, nil, of: self)
    self.exchange = exchange
    handler.begin(exchange)
    if !endIfDone(exchange.start()) { takeTurn() }
  }

  /// Whether the exchange is over, with an answer or without.
  var isOver: Bool { exchange == nil }

  /// Sends the rest of the body.
  func sendLast(_ bytes: [UInt8]) {
    unread += bytes
    isWhole = true
    takeTurn()
  }

  /// The client leaves.
  func hangUp() {
    if isSuspended { exchange?.abort() } else { end(isComplete: false) }
  }

  // MARK: The server's turns

  private func takeTurn() {
    while let exchange, !isSuspended, !unread.isEmpty {
      var left = unread.count
      let result = unread.withUnsafeBytes { exchange.proceed($0, &left) }
      unread.removeFirst(unread.count - left)
      if endIfDone(result) { return }
    }
    guard let exchange, !isSuspended, isWhole else { return }
    var left = 0
    _ = endIfDone(exchange.proceed(UnsafeRawBufferPointer(start: nil, count: 0), &left))
  }

  private func endIfDone(_ result: MHD_Result) -> Bool {
    guard answer != nil || result == .NO else { return false }
    end(isComplete: answer != nil)
    return true
  }

  private func end(isComplete: Bool) {
    exchange.take()?.finish(isComplete: isComplete)
  }

  func suspend(_: OpaquePointer) { isSuspended = true }

  func resume(_: OpaquePointer) {
    isSuspended = false
    if turnIsDue { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      takeTurn()
    }
  }

  func wake(_ exchange: Exchange) { exchange.resumeAfterWake() }

  func setIdleTimeout(of _: OpaquePointer, isOn _: Bool) {}

  func refusal(_ fault: WebFault, _ head: Head?) -> Response { handler.refuse(fault, head) }

  func queue(_ response: Response, for exchange: Exchange?, on _: OpaquePointer) -> MHD_Result {
    var answer = Answer(
      status: response.status, headers: response.headers.fields.map { .init(name: $0.name, value: $0.value) })
    if case .bytes(let bytes) = response.body { answer.body = bytes }
    self.answer = answer
    if let exchange { handler.responded(to: exchange, with: response.status) }
    return .YES
  }
}

extension HTTPClient {
  /// The head of a request over plain HTTP from the loopback.
  func memoryHead(_ method: String, _ path: String, _ length: Int?, _ more: [String: String] = [:]) throws -> Head {
    var headers = Headers()
    headers.append("Host", "\(host):\(port)")
    if let token { headers.append("Authorization", "Bearer \(token)") }
    if let length { headers.append("Content-Length", String(length)) }
    for (name, value) in more.sorted(by: { $0.key < $1.key }) { headers.append(name, value) }
    return try Head(
      RawHead(method: method, target: path, version: "HTTP/1.1", headers: headers),
      from: Origin(client: .loopback(port: 1), isSecure: false))
  }
}
