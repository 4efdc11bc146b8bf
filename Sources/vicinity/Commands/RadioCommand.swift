internal import Gateway
internal import Nearby
internal import Notation

/// Makes Wi-Fi networks without an access point on this machine's radios, and ends them.
enum RadioCommand {
  enum Action: String, CaseIterable, Sendable {
    case list, p2p, mesh, stop

    var usage: String {
      switch self {
      case .list: "list"
      case .p2p: "p2p start"
      case .mesh: "mesh join [name]"
      case .stop: "stop [radio]"
      }
    }

    var summary: String {
      switch self {
      case .list: "the Wi-Fi radios of this machine, what each can do, and the network that it has."
      case .p2p: "own a group of Wi-Fi Direct; phones join it as any Wi-Fi, by the code or by name and password."
      case .mesh: "be in a mesh (802.11s) with other hosts; it is 'vicinity' if not told."
      case .stop: "end the network of a radio, or all that were made by this command, those of killed programs too."
      }
    }
  }

  static func run(_ context: Context) async throws -> ExitCode {
    let words = context.invocation.arguments["words"] ?? []
    let action = context.invocation.argument("action").flatMap(Action.init) ?? .list
    let control: RadioControl
    do { control = try RadioControl() } catch { throw Failure(.failed, "\(error)") }
    do throws(RadioError) {
      switch (action, words.first, words.count) {
      case (.list, nil, _): return await list(context, control)
      case (.p2p, "start", 1): return try await hold(plan(.group, context), context, control)
      case (.mesh, "join", ...2):
        var plan = plan(.mesh, context)
        if words.count == 2 { plan.name = words[1] }
        plan.password = await password(context)
        return try await hold(plan, context, control)
      case (.stop, _, ...1):
        let stopped = try await control.stop(words.first)
        await context.printer.report(.stopped(stopped))
        return .done
      default: break
      }
    } catch {
      throw Failure(error.code == .invalid ? .usage : .failed, error.description, reason: error.code.rawValue)
    }
    throw UsageError("Say it as: vicinity radio \(action.usage).", in: "radio")
  }

  private static func list(_ context: Context, _ control: RadioControl) async -> ExitCode {
    let (radios, error) = await control.radios()
    for radio in radios where context.printer.isJSON { await context.printer.report(.radio(radio)) }
    if !context.printer.isJSON, !radios.isEmpty {
      let columns = context.terminal.isOutputTerminal ? context.terminal.columns() : .max / 2
      var table = Table(titles: ["RADIO", "STATE", "CAN MAKE", "NETWORK"])
      table.rows = radios.map { radio in
        [
          radio.name, radio.state.rawValue, radio.kinds.map { $0.map(\.rawValue).joined(separator: ", ") } ?? "?",
          radio.network.map { PlainText.line("\($0.kind.rawValue) \($0.name)\($0.isAbandoned ? ", abandoned" : "")") }
            ?? (radio.isManaged ? "(NetworkManager)" : ""),
        ]
      }
      await context.screen.print(table.lines(columns: columns))
      if let stations = stations(of: radios) { await context.screen.print([""] + stations.lines(columns: columns)) }
    }
    if let error { await context.printer.report(.warning(error.description)) }
    if radios.isEmpty { await context.printer.report(.warning("This machine has no Wi-Fi radio that Linux knows.")) }
    return radios.isEmpty ? .notFound : .done
  }

  /// The devices in the networks of the radios; nil where there is none.
  private static func stations(of radios: [Radio]) -> Table? {
    // The name is known to the program alone that has given the address.
    var table = Table(titles: ["NETWORK", "DEVICE", "ADDRESS"])
    table.rows = radios.compactMap(\.network).flatMap { network in
      network.stations.map { [PlainText.line(network.name), $0.hardware, $0.address ?? ""] }
    }
    return table.rows.isEmpty ? nil : table
  }

  // MARK: A network

  private static func plan(_ kind: RadioNetwork.Kind, _ context: Context) -> RadioPlan {
    var plan = RadioPlan(kind)
    plan.radio = context.invocation.text("radio")
    plan.isForced = context.invocation.has("force")
    if let frequency = context.invocation.number("frequency") { plan.frequency = frequency }
    return plan
  }

  /// It is never on the command line, which others on the machine can read.
  private static func password(_ context: Context) async -> String? {
    guard let path = context.invocation.text("password-file") else { return nil }
    let text = path == "-" ? await context.lines.secret("The mesh's password:") : FileSystem.text(of: path)
    // A file that cannot be read gives a password that is too short, which is an error.
    return text.map { String($0.prefix { $0 != "\n" && $0 != "\r\n" }) } ?? ""
  }

  /// Makes a network and keeps it until a signal ends the program, or the network ends.
  private static func hold(
    _ plan: RadioPlan, _ context: Context, _ control: RadioControl
  ) async throws(RadioError) -> ExitCode {
    let (radio, network) = try await control.start(plan)
    await context.printer.report(.network(network, on: radio, context.terminal))
    let end = ExitStatus()
    let code = await withDiscardingTaskGroup(returning: ExitCode.self) { group in
      group.addTask {
        for await signal in context.eventThread.signals {
          switch signal {
          case .interrupt: return end.set(.interrupted)
          case .terminate: return end.set(.terminated)
          case .redraw: break
          }
        }
      }
      group.addTask {
        await control.waitForEnd(of: radio)
        if !Task.isCancelled { end.set(.lost) }
      }
      if let time = context.invocation.duration("timeout") {
        group.addTask {
          await context.eventThread.wait(for: time)
          end.set(.done)
        }
      }
      let code = await end.code
      group.cancelAll()
      await control.stopOwn()
      return code
    }
    await context.printer.report(.stopped([radio]))
    return code
  }
}

extension Event {
  fileprivate static func radio(_ radio: Radio) -> Event {
    Event(
      "radio", .result,
      [
        .text("radio", radio.name), .text("state", radio.state.rawValue),
        radio.kinds.map { .list("kinds", $0.map(\.rawValue)) },
        radio.network.map { .init("network", .object(members(of: $0))) },
      ])
  }

  private static func members(of network: RadioNetwork) -> [JSON.Member] {
    [
      .text("kind", network.kind.rawValue), .text("interface", network.interface), .text("name", network.name),
      network.password.map { .text("password", $0) }, .number("frequency", network.frequency),
      .number("members", network.members), .init("stations", .list(network.stations.map(json(of:)))),
      .text("addressing", network.addressing.rawValue), .init("isAbandoned", .bool(network.isAbandoned)),
      network.code.map { .text("code", $0) },
    ].compactMap { $0 }
  }

  private static func json(of station: RadioStation) -> JSON {
    .object(
      [
        .text("hardwareAddress", station.hardware), station.address.map { .text("address", $0) },
        station.name.map { .text("name", $0) },
      ].compactMap { $0 })
  }

  /// A network that is up, with a QR code where the terminal has room for it.
  fileprivate static func network(_ network: RadioNetwork, on radio: String, _ terminal: Terminal) -> Event {
    Event("network", .result, [.text("radio", radio)] + members(of: network)) { paint in
      let name = paint(.strong, PlainText.line(network.name))
      guard network.kind == .group else {
        return ["in the mesh \(name) on \(radio), \(network.frequency) MHz; Ctrl-C leaves it"]
      }
      var lines = ["the group \(name) is up on \(radio), \(network.frequency) MHz; Ctrl-C ends it"]
      if let password = network.password { lines.append("  password \(paint(.strong, PlainText.line(password)))") }
      if network.addressing == .linkLocal {
        lines.append("  it gives out no IPv4 addresses: hosts do without, and phones may not stay (run it as root)")
      }
      if let code = network.code, let pattern = QRCode(code), terminal.canShow(columns: pattern.columns) {
        lines += pattern.lines(paint)
      }
      return lines
    }
  }

  fileprivate static func stopped(_ radios: [String]) -> Event {
    Event("stopped", .news, [.list("radios", radios)]) { _ in
      radios.isEmpty ? ["there was no network to end"] : radios.map { "\($0) has no network any more" }
    }
  }
}
