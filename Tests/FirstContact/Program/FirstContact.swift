internal import Reactor

/// One process that is one host with one peer in one session: its standard input says what to do, its standard output
/// what happens.
@main
enum FirstContact {
  static func main() throws {
    let reactor = try Reactor()
    let console = Console(on: reactor)
    reactor.spawn { await console.begin() }
    withExtendedLifetime(console) { reactor.run() }
  }
}
