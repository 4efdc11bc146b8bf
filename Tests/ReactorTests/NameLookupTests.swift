import Reactor
import Testing

@Suite struct NameLookupTests {
  private let reactor: Reactor

  init() throws { reactor = try Reactor() }

  /// The addresses of the names, delivered on the loop.
  private func lookUp(_ names: [String]) -> [String: Result<[SocketAddress], NameLookupError>] {
    // Read when the loop, on which alone they are written, has stopped.
    nonisolated(unsafe) var results: [String: Result<[SocketAddress], NameLookupError>] = [:]
    for name in names {
      reactor.lookUp(name, port: 80) { [reactor] result in
        reactor.preconditionIsolated()
        results[name] = result
        if results.count == names.count { reactor.stop() }
      }
    }
    reactor.schedule(after: .seconds(60)) { [reactor] in
      Issue.record("the test hangs")
      reactor.stop()
    }
    reactor.run()
    return results
  }

  @Test func `a name and an address become addresses`() throws {
    let results = lookUp(["localhost", "127.0.0.1", "::1", "192.0.2.7"])
    #expect(try results["127.0.0.1"]?.get() == [.loopback(port: 80)])
    #expect(try results["::1"]?.get().map(\.description) == ["[::1]:80"])
    #expect(try results["192.0.2.7"]?.get().map(\.description) == ["192.0.2.7:80"])
    let local = try results["localhost"]?.get().map(\.description) ?? []
    #expect(!local.isEmpty && Set(local).isSubset(of: ["127.0.0.1:80", "[::1]:80"]))
  }

  @Test func `a name that is none is told as that`() {
    guard case .failure = lookUp(["no-such-host.invalid"])["no-such-host.invalid"] else {
      Issue.record("it was found")
      return
    }
  }

  @Test func `no more than a few wait for the resolver at a time, and the others are told so at once`() {
    let results = lookUp((0..<200).map { "127.0.0.\($0 + 1)" })
    #expect(results.count == 200)
    for (name, result) in results {
      switch result {
      case .success(let addresses): #expect(addresses.map(\.description) == ["\(name):80"])
      case .failure(let error): #expect(error == .busy)
      }
    }
  }
}
