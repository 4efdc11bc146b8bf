internal import Media
internal import Reactor
internal import Wire

/// The content of a URL, read in pieces as a resource's receiver requests them.
///
/// Reads are sequential. An earlier offset is a receiver that has begun anew: the content is fetched again from there,
/// where the server can do that and still has the same.
final class WebSource: WebFetchOwner, @unchecked Sendable {
  // `@unchecked`: all of it happens on its reactor's thread.

  struct Piece {
    let bytes: [UInt8]
    let isLast: Bool
  }

  private struct Reading {
    let offset: UInt64
    let count: Int
    let answer: (Result<Piece, NearbyError>) -> Void
  }

  let head = Promise<Result<OpenSource, NearbyError>>()
  private let url: WebURL
  private let options: WebFetch.Options
  private let reactor: Reactor
  private var fetch: WebFetch?
  private var content: WebContent?
  private var readings: [Reading] = []
  /// Received bytes that were not read yet, from this offset on.
  private var bytes: [UInt8] = []
  private var position: UInt64 = 0
  /// Bytes before this offset were read once, and are skipped.
  private var skipsTo: UInt64 = 0
  /// Bytes that the fetch was asked for and has not brought.
  private var outstanding = 0
  private var isWhole = false
  private var fault: NearbyError?

  init(_ url: WebURL, _ options: WebFetch.Options, on reactor: Reactor) {
    self.url = url
    self.options = options
    self.reactor = reactor
  }

  func begin() { fetch = WebFetch(url, options: options, on: reactor, owner: self) }

  func read(from offset: UInt64, _ count: Int, _ answer: @escaping (Result<Piece, NearbyError>) -> Void) {
    if offset != readings.last.map({ $0.offset + UInt64($0.count) }) ?? position { beginAgain(at: offset) }
    readings.append(Reading(offset: offset, count: count, answer: answer))
    resume()
  }

  func cancel() {
    fetch?.cancel()
    fetch = nil
    readings = []
  }

  private func beginAgain(at offset: UInt64) {
    fetch?.cancel()
    readings = []
    bytes = []
    isWhole = false
    skipsTo = offset
    position = 0
    outstanding = 0
    fetch = WebFetch(
      url, from: WebFetch.Resumption(at: offset, of: content?.version), options: options, on: reactor, owner: self)
  }

  /// Answers the reads that can be answered, and requests missing bytes.
  private func resume() {
    while let reading = readings.first {
      if let fault {
        readings.removeFirst()
        reading.answer(.failure(fault))
        continue
      }
      guard bytes.count >= reading.count || isWhole else {
        return want(readings.reduce(-bytes.count) { $0 + $1.count })
      }
      readings.removeFirst()
      let piece = Array(bytes.prefix(reading.count))
      bytes.removeFirst(piece.count)
      position += UInt64(piece.count)
      reading.answer(.success(Piece(bytes: piece, isLast: isWhole && bytes.isEmpty)))
    }
  }

  private func want(_ count: Int) {
    guard content != nil, count > outstanding else { return }
    fetch?.want(count - outstanding)
    outstanding = count
  }

  // MARK: Events of the fetch

  func began(_ fetch: WebFetch, _ content: WebContent) {
    guard fetch === self.fetch else { return }
    guard let first = self.content else {
      self.content = content
      head.settle(
        .success(OpenSource(.web(self), name: content.name, type: content.type, size: content.size)))
      return
    }
    guard content.size == first.size, content.version == first.version, content.offset <= skipsTo else {
      fetch.cancel()
      fault = NearbyError(.unavailable, "\(url) holds something else by now than when it was offered")
      return resume()
    }
    position = content.offset
    if position < skipsTo { want(Self.skippedAtOnce) } else { resume() }
  }

  private static let skippedAtOnce = 256 << 10

  func received(_ span: RawSpan, from fetch: WebFetch) {
    guard fetch === self.fetch else { return }
    outstanding -= span.byteCount
    let skipped = Int(min(UInt64(span.byteCount), skipsTo - min(position, skipsTo)))
    position += UInt64(skipped)
    span.extracting(droppingFirst: skipped).withUnsafeBytes { bytes.append(contentsOf: $0) }
    if position < skipsTo { want(Self.skippedAtOnce) } else { resume() }
  }

  func ended(_ fetch: WebFetch, because error: WebError?) {
    guard fetch === self.fetch else { return }
    self.fetch = nil
    isWhole = error == nil
    if let error {
      fault = NearbyError(error)
      head.settle(.failure(NearbyError(error)))
    }
    resume()
  }
}
