internal import CMicroHTTPD
internal import Glibc

/// One connection that is served by libmicrohttpd, over all of its requests.
final class Connection {
  let origin: Origin
  /// Kept for as long as the connection counts.
  let admission: Admission
  /// Where it comes through a tunnel.
  let bypass: Bypass?
  var exchange: Exchange?
  private(set) var requestCount = 0
  /// Of the request that is under way: what its first line asks for. The library takes it apart where it lies.
  private var target = ""
  private var memory = HeadMemory()
  /// The last one, where it may be given again.
  private var lastAnswer: Answer?
  /// Whether it is between two requests, or has begun with the head of one.
  private var awaitsHead = false
  /// When the next whole head has to be there, on the reactor's clock; nil until it is known, at the next look.
  private var headDeadline: UInt64?

  init(_ origin: Origin, _ admission: Admission, _ bypass: Bypass?) {
    self.origin = origin
    self.admission = admission
    self.bypass = bypass
  }

  /// A request's first line is here.
  func begins(_ text: UnsafePointer<CChar>) {
    var target = target
    let isSame = target.withUTF8 { UnsafeRawBufferPointer($0).isText(text) }
    if !isSame { self.target = String(cString: text) }
  }

  /// The last answer, where this is the same.
  func answer(as response: Response) -> Answer? {
    guard let lastAnswer, lastAnswer.says(response) else { return nil }
    return lastAnswer
  }

  func answered(with answer: Answer) { lastAnswer = answer.isReusable ? answer : nil }

  func completed(isComplete: Bool) {
    exchange.take()?.finish(isComplete: isComplete)
    admission.hold(answerOf: 0)
    awaitsHead = true
    headDeadline = nil
  }

  /// Whether nothing more has to be waited for, seen by one who looks now and then: its next head takes longer than so many
  /// nanoseconds, its body comes too slowly, or its client has left with its last words. Where those and its leaving are
  /// one event the library sees the words only.
  func isOver(_ idle: UInt64, at now: UInt64, hasLeft: () -> Bool) -> Bool {
    if let exchange { return exchange.isTooSlow(at: now) || exchange.readsBody && hasLeft() }
    guard awaitsHead else { return false }
    if let headDeadline { return headDeadline <= now }
    headDeadline = now + idle
    return hasLeft()
  }

  /// What it goes on as, once the library has said so to its client.
  var grant: SocketGrant?

  /// Of the last head.
  private(set) var note = HeadNote()

  /// Its head is here.
  func head(
    of connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>,
    reading: (Head) throws(WebFault) -> Head
  ) throws(WebFault) -> Head {
    awaitsHead = false
    requestCount += 1
    let head = try memory.head(of: connection, method, target, version, from: origin, reading: reading)
    note = memory.note
    guard head.isOfOpenLength, let length = bypass?.takeAnnounced() else { return head }
    // The next one of the same headers may be of another length.
    note = HeadNote()
    return try Head(head, contentLength: length)
  }
}

extension UnsafeRawBufferPointer {
  /// Whether these are the bytes of a text that a zero ends.
  fileprivate func isText(_ text: UnsafePointer<CChar>) -> Bool {
    guard let baseAddress else { return text.pointee == 0 }
    return strlen(text) == count && memcmp(baseAddress, text, count) == 0
  }
}
