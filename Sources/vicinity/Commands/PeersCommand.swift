internal import Nearby

/// Searches for a while and lists the nearby peers: of one service type, or of all that are in use.
enum PeersCommand {
  private static let defaultTimeout: Duration = .seconds(3)
  /// The time to ask hosts for other types where no peer was found.
  private static let askingMax: Duration = .seconds(2)

  static func run(_ context: Context) async throws -> ExitCode {
    let type = context.invocation.argument("type")
    let time = context.invocation.duration("timeout") ?? defaultTimeout
    return try await CommandHost(context).run { commandHost in
      commandHost.begin()
      let searches = Searches(commandHost)
      if let type {
        try await searches.search(for: type)
        await context.eventThread.wait(for: time)
      } else {
        try await searches.searchForAll(within: time)
      }
      let found = await searches.found()
      if found.isEmpty {
        let others = type == nil ? [] : try await otherTypes(commandHost, within: min(time, askingMax))
        throw Failure(.notFound, nobody(type, within: time, others), reason: "timedOut")
      }
      if context.printer.isJSON {
        for (type, peer, reach) in found { await commandHost.report(.found(peer, peer.name, as: type, reach)) }
      } else {
        let columns = context.terminal.isOutputTerminal ? context.terminal.columns() : .max / 2
        await context.screen.print(table(found, showsType: type == nil, columns: columns))
      }
      commandHost.end(.done)
    }
  }

  private static func otherTypes(_ commandHost: CommandHost, within time: Duration) async throws -> [String] {
    let browser = try await commandHost.host.browseTypes()
    await commandHost.context.eventThread.wait(for: time)
    return await browser.found
  }

  private static func nobody(_ type: String?, within time: Duration, _ others: [String]) -> String {
    let whom = type.map { "Nobody was found for '\($0)'" } ?? "Nobody was found"
    let start = "\(whom) within \(Quantity.limit(time))"
    guard let first = others.first else {
      return "\(start); 'vicinity doctor' finds out why peers do not see each other."
    }
    let shown = others.prefix(shownMax).map { "'\($0)'" }.joined(separator: ", ")
    let more = others.count > shownMax ? " and \(others.count - shownMax) more" : ""
    return "\(start), but others nearby use \(shown)\(more): 'vicinity peers \(first)' lists those of one type, "
      + "'vicinity peers' all."
  }

  private static let shownMax = 8

  private static func table(
    _ found: [Searches.Found], showsType: Bool, columns: Int
  ) -> [String] {
    let isAnybodyAway = found.contains { $0.peer.awaySince != nil }
    var table = Table(
      titles: (showsType ? ["TYPE"] : []) + ["NAME", "ID", "REACHED BY"] + (isAnybodyAway ? ["AWAY SINCE"] : [])
        + ["INFO"])
    table.rows = found.map { type, peer, reach in
      let away = isAnybodyAway ? [peer.awaySince.map { ClockTime.text(of: $0) } ?? ""] : []
      return (showsType ? [type] : []) + [PlainText.line(peer.name), peer.id.text, reach?.summary ?? ""] + away
        + [Event.line(peer.info)]
    }
    return table.lines(columns: columns)
  }
}

/// Searches for peers, one for each service type.
private actor Searches {
  /// Limit for types, more than a person reads in a table.
  private static let typesMax = 64

  private let commandHost: CommandHost
  private var browsers: [String: Browser] = [:]

  init(_ commandHost: CommandHost) { self.commandHost = commandHost }

  func search(for type: String) async throws {
    let browser = try await commandHost.peer.browse(type)
    browsers[type] = browser
    commandHost.tasks.add { [commandHost] in
      await Conditions.report(browser.states, of: .browser, type) { await commandHost.report($0) }
    }
  }

  /// Searches for each type that becomes known until then.
  func searchForAll(within time: Duration) async throws {
    let types = try await commandHost.host.browseTypes()
    commandHost.tasks.add {
      do {
        for await known in types.types { try await self.search(for: known) }
      } catch {
        await self.commandHost.fail(error)
      }
    }
    await commandHost.context.eventThread.wait(for: time)
    await types.stop()
  }

  private func search(for types: [String]) async throws {
    for type in types where browsers[type] == nil && browsers.count < Self.typesMax { try await search(for: type) }
  }

  typealias Found = (type: String, peer: FoundPeer, reach: PeerReach?)

  /// The peers that were found, by type and name.
  func found() async -> [Found] {
    var found: [Found] = []
    for (type, browser) in browsers {
      for peer in await browser.found { found.append((type, peer, await browser.reach(of: peer.id))) }
    }
    return found.sorted { ($0.type, $0.peer.name, $0.peer.id) < ($1.type, $1.peer.name, $1.peer.id) }
  }
}
