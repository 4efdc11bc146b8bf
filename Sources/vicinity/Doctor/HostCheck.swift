internal import Nearby

/// A check that starts a host: whether it can search, which hosts it meets, and whether its key is unique.
enum HostCheck {
  private static let type = AdhocCommand.defaultType

  static func findings(_ context: Context, for time: Duration) async throws -> [Finding] {
    var options = try context.hostOptions()
    // Another check tests whether the requested port is free.
    options.port = 0
    options.looksForTwin = true
    // Other checks look at folders and at Bluetooth.
    let media = options.media.filter {
      FolderCheck.trouble(with: $0) == nil && BluetoothCheck.trouble(with: $0) == nil
    }
    if media.isEmpty { return [] }
    options.media = media
    do throws(NearbyError) {
      let findings = try await check(options, context, for: time)
      if findings.contains(where: { $0.check == .key }) { return findings }
      return findings + [Finding(.key, .good, "No other host with this one's key was met.")]
    } catch {
      // The error about an invalid address is complete.
      if error.code == .invalidParameter { throw error }
      options.keys = .ephemeral
      options.store = .none
      return [keys(error)] + (try await check(options, context, for: time))
    }
  }

  /// The finding on keys with which no host can be started here.
  static func keys(_ error: NearbyError) -> Finding {
    if error.code == .unavailable {
      return Finding(
        .key, .unknown,
        "Whether another machine has the same keys cannot be seen from here: \(clause(error).problem).",
        cure: "Whoever holds them says so when it meets one; or stop it, and look again.")
    }
    return Finding(
      .key, .bad, "No host can be started with these keys: \(clause(error).problem).",
      cure: clause(error).cure ?? "Mend that, or use another folder with --keys.")
  }

  /// Splits a sentence into problem and cause, and the remedy after its last semicolon.
  private static func clause(_ error: NearbyError) -> (problem: String, cure: String?) {
    let text = error.description
    guard let place = text.ranges(of: "; ").last else { return (text.trimmingFullStop, nil) }
    let cure = text[place.upperBound...]
    return (String(text[..<place.lowerBound]), cure.prefix(1).uppercased() + cure.dropFirst())
  }

  private static func check(
    _ options: HostOptions, _ context: Context, for time: Duration
  ) async throws(NearbyError) -> [Finding] {
    let host = try await Host.start(options)
    let browser = try await host.peer(named: context.name).browse(type)
    let told = await withTaskGroup(of: [Finding]?.self) { group in
      group.addTask {
        var findings: [Finding] = []
        for await condition in host.conditions { if let finding = finding(condition) { findings.append(finding) } }
        return findings
      }
      group.addTask {
        await context.eventThread.wait(for: time)
        return nil
      }
      var told: [Finding] = []
      while let one = await group.next() {
        if let one { told += one } else { group.cancelAll() }
      }
      return told
    }
    let (found, state) = (await browser.found.count, browser.state)
    let links = LinkCheck.findings(await host.links)
    await host.stop()
    if told.contains(where: { $0.check == .discovery }) { return told }
    if case .failed(let problem) = state {
      return told + [Finding(.discovery, .bad, problem.cause, cure: problem.cure)]
    }
    return told + [
      Finding(
        .discovery, .good,
        "A host looked for others: \(Quantity.count(found, "peer", "peers")) of the type '\(type)' in \(Quantity.time(time))."
      )
    ] + links
  }

  private static func finding(_ condition: Condition) -> Finding? {
    switch condition {
    case .discoveryUnavailable(let cause, let cure), .mediumUnavailable(let cause, let cure):
      Finding(.discovery, .bad, cause, cure: cure)
    case .conflict(let id):
      Finding(
        .key, .bad, "The key of this host (\(id)) is in use on another one as well: the two take each other's place.",
        cure: "Give one of them a folder of its own with --keys, or delete its copy of the keys.")
    case .discoveryAvailable, .addresses, .notStored, .storedAgain: nil
    }
  }
}

extension String {
  fileprivate var trimmingFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
