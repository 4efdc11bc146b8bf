internal import CReceive
internal import Glibc

/// One connection that is served by libmicrohttpd, over all of its requests.
final class Connection {
  /// Kept for as long as the connection counts.
  let admission: Admission
  /// The tunnel through which it comes, which then reads from the client; nil without TLS.
  let bypass: Bypass?
  let reader: RequestReader
  var exchange: Exchange?
  /// Whether the request that is under way has its answer.
  var isAnswered = false
  private(set) var requestCount = 0
  /// The last head as it was read, where it may come again, and what the handler made of it.
  private var lastHead: (read: Head, meant: Head)?
  /// The last one, where it may be given again.
  private var lastAnswer: Answer?
  /// Whether it is between two requests, or has begun with the head of one.
  private var awaitsHead = false
  /// When the next whole head has to be there, on the reactor's clock; nil until it is known, at the next look.
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

  /// Fills the room with what the library is to read: how much, 0 at the end, and less than 0 for an error.
  ///
  /// Law: less than there is room for means that nothing more is there to be read, or that the library is nudged when it is:
  /// it waits for an event then.
  func read(_ descriptor: CInt, into room: UnsafeMutableRawBufferPointer, _ scratch: Scratch) -> Int {
    reader.resume()
    var count = reader.give(room)
    while count < room.count, reader.isReading {
      let asked = min(room.count - count, scratch.room.count)
      let received = creceive_plain(descriptor, scratch.room.baseAddress, asked)
      if received <= 0 { return count > 0 ? count : received }
      reader.read(UnsafeRawBufferPointer(rebasing: scratch.room[..<received]))
      count += reader.give(UnsafeMutableRawBufferPointer(rebasing: room[count...]))
      if received < asked { break }
    }
    return count > 0 ? count : Int(-EAGAIN)
  }

  /// Whether the library must read once more behind the request that begins: no event tells of what is held back.
  func nudges() -> Bool {
    isNudged = !isNudged && bypass == nil && reader.isHeldBack
    return isNudged
  }

  /// The last answer, where this is the same.
  func answer(as response: Response) -> Answer? {
    guard let lastAnswer, lastAnswer.says(response) else { return nil }
    return lastAnswer
  }

  func answered(with answer: Answer) { lastAnswer = answer.isReusable ? answer : nil }

  func completed(isComplete: Bool) {
    exchange.take()?.finish(isComplete: isComplete)
    isAnswered = false
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

  /// The library has been told of a request.
  func nextHead(reading: (Head) throws(WebFault) -> Head) throws(WebFault) -> Head {
    awaitsHead = false
    requestCount += 1
    guard let head = reader.nextHead() else {
      throw fault ?? WebFault(400, "The request was not read: send it again.")
    }
    // A tunnel reads on then.
    if reader.isHeldBack { bypass?.changed() }
    if let lastHead, lastHead.read === head { return lastHead.meant }
    lastHead = nil
    note = HeadNote()
    let meant = try reading(head)
    if reader.knows(head) { lastHead = (head, meant) }
    return meant
  }

  /// Why the request that is under way cannot be read to its end.
  var fault: WebFault? { reader.fault(ofRequest: requestCount) }
}
