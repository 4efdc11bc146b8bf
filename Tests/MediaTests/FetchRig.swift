import Media
import Reactor
import Testing

/// One loop with fetches and the servers they ask; all of it runs inside `run()`, on the test's own thread.
final class FetchRig {
  let reactor: Reactor
  var options = WebFetch.Options()
  private var underWay = 0

  init() throws {
    reactor = try Reactor()
    options.policy.allowsLoopback = true
  }

  @discardableResult
  func fetch(
    _ url: String, from resumption: WebFetch.Resumption? = nil, appetite: Int = .max,
    _ ended: @escaping (Collector) -> Void = { _ in }
  ) throws -> Collector {
    let collector = Collector(appetite: appetite) { [self] collector in
      underWay -= 1
      ended(collector)
      if underWay == 0 { reactor.stop() }
    }
    underWay += 1
    WebFetch(try WebURL(url), from: resumption, options: options, on: reactor, owner: collector)
    return collector
  }

  /// Runs until all fetches have ended; not ending is a failure.
  func run() {
    reactor.schedule(after: .seconds(60)) { [reactor] in
      Issue.record("the test hangs")
      reactor.stop()
    }
    reactor.run()
  }

  /// The outcome of one fetch.
  func outcome(
    _ url: String, from resumption: WebFetch.Resumption? = nil, appetite: Int = .max
  ) throws -> Collector {
    let collector = try fetch(url, from: resumption, appetite: appetite)
    run()
    return collector
  }
}

/// Collects a fetch's events, and requests more when it has what it requested.
final class Collector: WebFetchOwner {
  private let appetite: Int
  private let told: (Collector) -> Void
  private var hunger = 0
  var began: (WebFetch) -> Void = { _ in }
  private(set) var content: WebContent?
  private(set) var bytes: [UInt8] = []
  private(set) var errors: [WebError?] = []
  private(set) var portions: [Int] = []

  /// Creates a collector; with an appetite of 0 the test makes the requests.
  init(appetite: Int, _ told: @escaping (Collector) -> Void) {
    self.appetite = appetite
    self.told = told
  }

  var error: WebError? { errors.count == 1 ? errors[0] : nil }
  var isWhole: Bool { errors == [nil] }
  var text: String { String(decoding: bytes, as: UTF8.self) }

  func began(_ fetch: WebFetch, _ content: WebContent) {
    #expect(self.content == nil)
    self.content = content
    ask(fetch)
    began(fetch)
  }

  func received(_ bytes: RawSpan, from fetch: WebFetch) {
    #expect(!bytes.isEmpty && (appetite == 0 || bytes.byteCount <= hunger) && errors.isEmpty)
    portions.append(bytes.byteCount)
    bytes.withUnsafeBytes { self.bytes += $0 }
    hunger -= bytes.byteCount
    if hunger == 0 { ask(fetch) }
  }

  func ended(_ fetch: WebFetch, because error: WebError?) {
    errors.append(error)
    told(self)
  }

  private func ask(_ fetch: WebFetch) {
    if appetite == 0 { return }
    hunger = appetite
    fetch.want(appetite)
  }
}
