internal import CReceive
internal import Glibc

/// One connection that is served by libmicrohttpd, over all of its requests.
final class HTTPConnection {
  /// The connection's admission, held for as long as it counts.
  let admission: Admission
  /// The bypass of the tunnel through which the connection comes, which then reads from the client; nil without TLS.
  let bypass: Bypass?
  let reader: RequestReader
  var exchange: Exchange?
  /// Whether the current request has its response.
  var hasResponse = false
  private(set) var requestCount = 0
  /// The last head as it was read, where it may come again, and as the handler interprets it.
  private var lastHead: (read: Head, meant: Head)?
  /// The last response, where it can be used again.
  private var lastResponse: PreparedResponse?
  /// Whether the connection is between two requests, or has begun with the head of one.
  private var awaitsHead = false
  /// The deadline for the next whole head, on the reactor's clock; nil until the next sweep sets it.
  private var headDeadline: UInt64?
  /// Whether the library is to read once more, since requests are held back.
  private var isNudged = false

  init(_ reader: RequestReader, _ admission: Admission, _ bypass: Bypass?) {
    self.reader = reader
    self.admission = admission
    self.bypass = bypass
  }

  /// Whether its client's bytes are read here, and not by a tunnel.
  var readsClient: Bool { bypass == nil }

  /// Fills the room with the library's input: returns the number of bytes, 0 at the end, and less than 0 for an error.
  ///
  /// Invariant: less than the room holds means that nothing more can be read, or that the library is nudged when there
  /// is more: the library then waits for an event.
  func read(_ descriptor: CInt, into room: UnsafeMutableRawBufferPointer, _ scratch: ScratchBuffer) -> Int {
    reader.resume()
    var count = reader.takeOutput(into: room)
    while count < room.count, reader.isReading {
      let asked = min(room.count - count, scratch.room.count)
      let received = creceive_plain(descriptor, scratch.room.baseAddress, asked)
      if received <= 0 { return count > 0 ? count : received }
      reader.read(UnsafeRawBufferPointer(rebasing: scratch.room[..<received]))
      count += reader.takeOutput(into: UnsafeMutableRawBufferPointer(rebasing: room[count...]))
      if received < asked { break }
    }
    return count > 0 ? count : Int(-EAGAIN)
  }

  /// Whether the library must read once more behind the request that begins: held-back requests cause no event.
  func toggleNudge() -> Bool {
    isNudged = !isNudged && bypass == nil && reader.isHeldBack
    return isNudged
  }

  /// The last response in the library's form, where this one is identical.
  func prepared(as response: Response) -> PreparedResponse? {
    guard let lastResponse, lastResponse.isSame(as: response) else { return nil }
    return lastResponse
  }

  func keep(_ response: PreparedResponse) { lastResponse = response.isReusable ? response : nil }

  func finishRequest(isComplete: Bool) {
    exchange.take()?.finish(isComplete: isComplete)
    hasResponse = false
    admission.reserve(answerBytes: 0)
    awaitsHead = true
    headDeadline = nil
  }

  /// Returns whether a periodic sweep can end the connection: its next head takes longer than `idle` nanoseconds (the keep-alive
  /// timeout), its body comes too slowly, or its client has closed right after its last bytes. Where those and the close
  /// are one event, the library only sees the bytes.
  func checkTimeout(_ idle: UInt64, at now: UInt64, hasClosed: () -> Bool) -> Bool {
    if let exchange { return !exchange.checkRate(at: now) || exchange.readsBody && hasClosed() }
    guard awaitsHead else { return false }
    if let headDeadline { return headDeadline <= now }
    headDeadline = now + idle
    return hasClosed()
  }

  /// The upgrade to a WebSocket, until the library has sent the client its response.
  var grant: SocketGrant?

  /// The handler's context for the last head.
  private(set) var headContext = HeadContext()

  /// The library has begun a request.
  func nextHead(reading: (Head) throws(WebFault) -> Head) throws(WebFault) -> Head {
    awaitsHead = false
    requestCount += 1
    guard let head = reader.nextHead() else {
      throw fault ?? WebFault(400, "The request was not read: send it again.")
    }
    // A tunnel resumes reading then.
    if reader.isHeldBack { bypass?.changed() }
    if let lastHead, lastHead.read === head { return lastHead.meant }
    lastHead = nil
    headContext = HeadContext()
    let meant = try reading(head)
    if reader.knows(head) { lastHead = (head, meant) }
    return meant
  }

  /// The reason why the current request cannot be read to its end.
  var fault: WebFault? { reader.fault(ofRequest: requestCount) }
}
