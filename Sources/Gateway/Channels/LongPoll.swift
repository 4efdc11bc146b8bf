internal import Reactor
internal import Web

/// A request that waits for news.
final class LongPoll: Follower {
  private let collection: Collection
  private let listing: Listing
  let client: ClientView
  private let reactor: Reactor
  private var timer: Timer?
  private var answer: ((Reply) -> Void)?

  init(_ collection: Collection, _ listing: Listing, _ client: ClientView, _ reactor: Reactor) {
    self.collection = collection
    self.listing = listing
    self.client = client
    self.reactor = reactor
  }

  func begin(_ exchange: Exchange, _ answer: @escaping (Reply) -> Void) {
    self.answer = answer
    // The collection keeps it while it waits.
    collection.follow(self)
    exchange.onGone = { self.finish() }
    timer = reactor.schedule(after: .seconds(listing.wait)) { [unowned self] in tell() }
  }

  func changed(_ collection: Collection) {
    if listing.isNews(collection, for: client) { tell() }
  }

  func ended(_ collection: Collection) { tell() }

  func dismissed() {
    let answer = answer
    finish()
    answer?(Reply(Problem.unauthorized("the token was revoked: pair anew")))
  }

  func released() { tell() }

  private func tell() {
    let answer = answer
    finish()
    answer?(listing.news(of: collection, for: client))
  }

  private func finish() {
    if let timer { reactor.cancel(timer) }
    timer = nil
    answer = nil
    collection.unfollow(self)
  }
}
