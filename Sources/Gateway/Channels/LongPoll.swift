internal import Reactor
internal import Web

/// A request that waits for changes. Its position moves past changes that its client does not see: the channel may have
/// dropped those by the time there is one for the client.
final class LongPoll: Follower {
  private let collection: Collection
  private var listing: Listing
  let client: ClientView
  private let reactor: Reactor
  private var timer: Timer?
  private var answer: ((Result<Listing, Problem>) -> Void)?

  /// Takes a listing for which there are no changes yet.
  init(_ collection: Collection, _ listing: Listing, _ client: ClientView, _ reactor: Reactor) {
    self.collection = collection
    self.listing = listing
    self.listing.since = collection.position
    self.client = client
    self.reactor = reactor
  }

  /// Calls `answer` with the listing to respond to, once there are changes or no more will come.
  func begin(_ exchange: Exchange, _ answer: @escaping (Result<Listing, Problem>) -> Void) {
    self.answer = answer
    // The collection retains this object while it waits.
    collection.follow(self)
    exchange.onAbort = { self.finish() }
    timer = reactor.schedule(after: .seconds(listing.wait)) { [unowned self] in respond() }
  }

  func changed(_ collection: Collection) {
    if listing.hasChanges(collection, for: client) { return respond() }
    listing.since = collection.position
  }

  func ended(_ collection: Collection) { respond() }

  func accessRevoked() {
    let answer = answer
    finish()
    answer?(.failure(Problem.unauthorized("the token was revoked: pair again")))
  }

  func gatewayStopping() { respond() }

  private func respond() {
    let answer = answer
    finish()
    listing.wait = 0
    answer?(.success(listing))
  }

  private func finish() {
    if let timer { reactor.cancel(timer) }
    timer = nil
    answer = nil
    collection.unfollow(self)
  }
}
