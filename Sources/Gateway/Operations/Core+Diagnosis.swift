internal import Nearby
internal import Notation
internal import Reactor

/// Findings for `vicinity doctor`, with those that only the gateway's own host can know.
extension Core {
  /// The time to wait for answers to a multicast question.
  private static let listeningTime: Duration = .seconds(3)
  static let diagnosisTimeMax = 10

  func diagnose() async throws -> JSON {
    guard !isDiagnosing else {
      throw Problem.rateLimited(
        "another diagnosis is in progress, which takes some seconds: retry then", after: Self.diagnosisTimeMax)
    }
    isDiagnosing = true
    defer { isDiagnosing = false }
    let port = UInt16(addresses.first?.split(separator: ":").last ?? "") ?? 0
    let bus = await BusReport.gather()
    let media = options.host.media
    let (interfaces, first) = try await host.onDisk {
      let interfaces = CheckedInterface.all()
      return (
        interfaces,
        DaemonCheck.findings(interfaces, bus) + InterfaceCheck.findings(interfaces)
          + FirewallCheck.findings(linkPort: port, bus) + FolderCheck.findings(media)
          + BluetoothCheck.findings(media)
      )
    }
    let heard = await MulticastCheck.listen(on: interfaces, for: Self.listeningTime) { await pass($0) }
    let findings =
      first + MulticastCheck.findings(heard, interfaces, time: Self.listeningTime)
      + (await IsolationCheck.findings(heard) { await pass($0) }) + LinkCheck.findings(host.linksHere)
      + (await RadioCheck.findings()) + ownFindings
    return ["at": .text(Timestamp.now.description), "findings": .list(findings.map(\.json))]
  }

  private var ownFindings: [Finding] {
    var findings = [
      discoveryError.map { Finding(.discovery, .bad, $0.cause, cure: $0.cure) }
        ?? Finding(.discovery, .good, "This gateway's host looks for others, and is seen by them.")
    ]
    if let conflict {
      findings.append(
        Finding(
          .key, .bad, "The key of this host (\(conflict)) is in use on another one as well.",
          cure: "Give one of them a folder of its own with --keys, or delete its copy of the keys."))
    } else {
      findings.append(Finding(.key, .good, "No other host with this one's key was met."))
    }
    if options.scrubTime > .zero { findings.append(storageFinding) }
    return findings
  }

  private func pass(_ time: Duration) async {
    await withCheckedContinuation { continuation in
      reactor.schedule(after: time) { continuation.resume() }
    }
  }
}

extension Finding {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [
      .init("check", .text(check.rawValue)), .init("state", .text(state.rawValue)), .init("text", .text(says)),
    ]
    if let cure { members.append(.init("cure", .text(cure))) }
    return .object(members)
  }
}
