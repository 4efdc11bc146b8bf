internal import Nearby

/// Looks who is nearby for a while, and lists them.
enum PeersCommand {
  private static let timeoutByDefault: Duration = .seconds(3)

  static func run(_ context: Context) async throws -> ExitCode {
    let type = context.invocation.required("type")
    let time = context.invocation.duration("timeout") ?? timeoutByDefault
    return try await Visit(context).run { visit in
      visit.begin()
      let browser = try await visit.peer.browse(type)
      visit.crew.add { await Conditions.tell(browser.states, of: .browser, type) { await visit.tell($0) } }
      await context.watch.pass(time)
      let found = await browser.found.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
      if found.isEmpty {
        throw Failure(
          .notFound,
          "Nobody was found for '\(type)' within \(Quantity.limit(time)); 'vicinity doctor' finds out why peers do not see "
            + "each other.", reason: "timedOut")
      }
      if context.announcer.isJSON {
        for peer in found { await visit.tell(.found(peer, peer.name)) }
      } else {
        await context.screen.print(table(found, columns: context.terminal.columns(), context.terminal.isOutputTerminal))
      }
      visit.end(.done)
    }
  }

  /// What is not looked at on a terminal is not cut to the width of one.
  private static func table(_ found: [FoundPeer], columns: Int, _ isTerminal: Bool) -> [String] {
    let isAnybodyAway = found.contains { $0.awaySince != nil }
    var table = Table(titles: ["NAME", "ID"] + (isAnybodyAway ? ["AWAY SINCE"] : []) + ["INFO"])
    table.rows = found.map { peer in
      let away = isAnybodyAway ? [peer.awaySince.map { ClockTime.text(of: $0) } ?? ""] : []
      return [PlainText.line(peer.name), peer.id.text] + away + [Event.line(peer.info)]
    }
    return table.lines(columns: isTerminal ? columns : .max / 2)
  }
}
