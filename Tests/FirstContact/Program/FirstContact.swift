internal import Reactor

/// One process that is one host with one peer in one session: its standard input says what to do, its standard output
/// what happens. It listens at the address that it is given, or on loopback.
@main
enum FirstContact {
  static func main() throws {
    let reactor = try Reactor()
    let console = Console(on: reactor, at: CommandLine.arguments.dropFirst().first ?? "127.0.0.1")
    reactor.spawn { await console.begin() }
    withExtendedLifetime(console) { reactor.run() }
  }
}
