import Reactor
import Testing

/// The addresses of a host, as its network watch reports them, and the word "lost" before those of IPv4 that it has lost.
final class NetworkWatcher: @unchecked Sendable {
  // `@unchecked`: all mutable state is touched on its loop alone.

  private let loop: HostLoop
  private var watch: NetworkWatch?
  private var told: [[String]] = []
  private var wait: (takes: ([String]) -> Bool, continuation: CheckedContinuation<[String]?, Never>, timer: Timer)?

  init(on process: Int) throws {
    loop = try HostLoop(on: process)
    loop.reactor.spawn { [self] in
      do {
        let watch = try NetworkWatch(
          on: loop.reactor, lost: { [weak self] in self?.noteLost($0) }, changed: { [weak self] in self?.note() })
        self.watch = watch
        note()
      } catch {
        Issue.record(error)
      }
    }
  }

  /// The next addresses that satisfy, without their ports.
  func next(_ satisfies: @escaping @Sendable ([String]) -> Bool = { _ in true }) async throws -> [String] {
    let found = await loop.reactor.spawn { [self] in
      await withCheckedContinuation { (continuation: CheckedContinuation<[String]?, Never>) in
        let timer = loop.reactor.schedule(after: .seconds(10)) { [self] in
          wait = nil
          continuation.resume(returning: nil)
        }
        wait = (satisfies, continuation, timer)
        listen()
      }
    }.value
    return try #require(found)
  }

  func stop() async {
    await loop.reactor.spawn { [self] in watch = nil }.value
    loop.reactor.stop()
  }

  private func note() {
    told.append(
      (watch?.addresses ?? []).map { address in
        var text = address.description.dropLast(2)
        if text.hasPrefix("[") { text = text.dropFirst().dropLast() }
        return String(text)
      })
    listen()
  }

  private func noteLost(_ hosts: Set<SocketAddress.Host>) {
    let lost = hosts.compactMap { host -> String? in
      guard case .v4(let bytes) = host else { return nil }
      return bytes.map(String.init).joined(separator: ".")
    }
    told.append(["lost"] + lost.sorted())
    listen()
  }

  private func listen() {
    while let (takes, continuation, timer) = wait, !told.isEmpty {
      let addresses = told.removeFirst()
      guard takes(addresses) else { continue }
      loop.reactor.cancel(timer)
      wait = nil
      continuation.resume(returning: addresses)
    }
  }
}
