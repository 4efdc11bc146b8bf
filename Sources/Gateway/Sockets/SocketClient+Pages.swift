internal import Notation
internal import Web

/// Pages of lists that a client follows: the page as it is, and then how it differs from what the client has.
extension SocketClient {
  /// The pages that all WebSockets of one client follow at most, since each is read anew in each round.
  static let clientPagesMax = 256

  func follow(
    _ collection: Collection, page listing: Listing, as channel: String, _ since: Position?, _ id: JSON,
    _ view: ClientView
  ) throws(Problem) {
    guard collection.isFollowedByPages else {
      throw Problem(
        .unsupported, "this list drops its oldest items, so its pages move: subscribe to all of it, without a query",
        field: "subscribe.channel")
    }
    guard listing.since == nil else {
      throw Problem(
        .invalidParameter, "'since' stands beside 'channel' and not in it", field: "subscribe.channel", rule: "since")
    }
    guard (account?.pageCount ?? 0) < Self.clientPagesMax else {
      throw Problem(
        .tooMany, "a client follows \(Self.clientPagesMax) pages of lists at most: unsubscribe from some",
        limit: Self.clientPagesMax)
    }
    account?.pageCount += 1
    let page = LivePage(collection, listing, core.channels.number(), for: view, of: self)
    pages[channel] = page
    core.pageRounds.add(page)
    var answer: [JSON.Member] = [
      .init("channel", .text(channel)), .init("number", .number(page.number)),
      .init("position", .text(collection.position.description)),
    ]
    // Small as it is, it is sent again where anything has changed.
    let isKnown = since == collection.position
    answer.append(.init("recovered", .bool(isKnown)))
    if let missed = collection.missed(since: since) { answer.append(.init("missed", .number(missed))) }
    var frame = JSON.object([.init("id", id)]).bytes
    frame.removeLast()
    frame += ",\"ok\":".utf8
    frame += JSON.object(answer).bytes.dropLast()
    if !isKnown {
      frame += ",\"items\":[".utf8
      for piece in Item.separated(page.items) { frame += piece }
      frame.append(UInt8(ascii: "]"))
    }
    frame += page.end
    frame += "}}".utf8
    send(frame)
  }

  /// Sends what is different in a page, unless the client has much to read: it gets the difference once it has read.
  func tell(_ page: LivePage) {
    guard let socket, !isClosing else { return }
    page.isWaiting = socket.queuedBytes >= Self.pieceBytes
    if page.isWaiting { return socket.requestWritable() }
    if let frame = page.difference() { send(frame) }
  }

  func resumePages() {
    for page in pages.values where page.isWaiting { tell(page) }
  }

  func endPages(of collection: Collection) {
    for (channel, page) in pages where page.collection === collection {
      unfollow(page: channel)
      send(Array("{\"n\":\(page.number),\"end\":true}".utf8))
    }
  }

  /// Whether it was followed.
  @discardableResult
  func unfollow(page channel: String) -> Bool {
    guard let page = pages.removeValue(forKey: channel) else { return false }
    account?.pageCount -= 1
    core.pageRounds.remove(page)
    return true
  }
}
