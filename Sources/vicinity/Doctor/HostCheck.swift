internal import Nearby

/// What a host of this program itself comes to: whether it can look around, whom it meets, and whether its key is its
/// own.
enum HostCheck {
  private static let type = AdhocCommand.typeByDefault

  static func findings(_ context: Context, for time: Duration) async throws -> [Finding] {
    let host: Host
    do {
      host = try await Host.start(try context.hostOptions())
    } catch let error as NearbyError where error.code == .unavailable {
      return [
        Finding(
          .key, .good,
          "The keys are held by another program on this machine, which is the only one that uses them. "
            + error.description),
        Finding(.discovery, .unknown, "Without keys of its own no host could be started to look around."),
      ]
    }
    var findings = try await look(host, context, for: time)
    await host.stop()
    findings += [
      Finding(.key, .good, "No other host with this one's key was met.")
    ].filter { _ in !findings.contains { $0.check == .key } }
    return findings
  }

  private static func look(_ host: Host, _ context: Context, for time: Duration) async throws -> [Finding] {
    let browser = try await host.peer(named: context.name).browse(type)
    let told = await withTaskGroup(of: [Finding]?.self) { group in
      group.addTask {
        var findings: [Finding] = []
        for await condition in host.conditions { if let finding = finding(condition) { findings.append(finding) } }
        return findings
      }
      group.addTask {
        await context.watch.pass(time)
        return nil
      }
      var told: [Finding] = []
      while let one = await group.next() {
        if let one { told += one } else { group.cancelAll() }
      }
      return told
    }
    if told.contains(where: { $0.check == .discovery }) { return told }
    let found = await browser.found.count
    return told + [
      Finding(
        .discovery, .good,
        "A host looked for others: \(Quantity.count(found, "peer", "peers")) of the type '\(type)' in \(Quantity.time(time))."
      )
    ]
  }

  private static func finding(_ condition: Condition) -> Finding? {
    switch condition {
    case .discoveryUnavailable(let cause, let cure): Finding(.discovery, .bad, cause, cure: cure)
    case .notAdvertised(_, let cause, let cure): Finding(.discovery, .bad, cause, cure: cure)
    case .conflict(let id):
      Finding(
        .key, .bad, "The key of this host (\(id)) is in use on another one as well: the two take each other's place.",
        cure: "Give one of them a folder of its own with --keys, or delete its copy of the keys.")
    case .discoveryAvailable, .advertisedAgain, .addresses, .notStored, .storedAgain: nil
    }
  }
}
