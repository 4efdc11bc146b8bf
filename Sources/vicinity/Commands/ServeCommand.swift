internal import Gateway
internal import Nearby

/// The gateway: browsers, scripts and services join nearby sessions through it.
enum ServeCommand {
  /// Limit for the goodbyes, beside the time to drain: others are notified of the end within it, or not at all.
  private static let goodbyeMax: Duration = .seconds(5)

  static func run(_ context: Context) async throws -> ExitCode {
    if context.invocation.has("show-config") {
      _ = try certificate(context.invocation)
      return await ConfigurationTable.show(context)
    }
    let (log, supervisor) = (LogWriter(context), Supervisor(Terminal.environment))
    let gateway = try await Gateway.start(options(context, log.level, supervisor))
    let addresses = await gateway.host.addresses
    await context.printer.report(.serving(gateway.host.id, at: addresses, await gateway.web))
    let role = context.invocation.text("code-role") ?? "operator"
    if mayShowCode(context) {
      await context.printer.report(.pairingCode(try await gateway.makePairingTicket(role: role), on: context.terminal))
    } else {
      await context.printer.report(.codeElsewhere)
    }
    // The page has a code that nobody else sees.
    let page = context.invocation.has("open") ? try await openPage(of: gateway, role, context) : nil
    defer { page?.remove() }
    supervisor.notify(.ready(status: "at \(addresses.first ?? "no address")"))
    // Both end with the gateway, when all records are written.
    async let logged: Void = { for await record in gateway.log { await log.write(record) } }()
    async let conditions: Void = Conditions.report(gateway.conditions) { await log.report($0) }
    let code = await withDiscardingTaskGroup(returning: ExitCode.self) { group in
      group.addTask { await reportAlive(gateway, supervisor, context.eventThread) }
      for await signal in context.eventThread.signals where signal != .redraw {
        let code: ExitCode = signal == .interrupt ? .interrupted : .done
        context.eventThread.end(code, after: drainTime(context) + goodbyeMax)
        await stop(gateway, context, supervisor)
        group.cancelAll()
        return code
      }
      return .done
    }
    await logged
    await conditions
    return code
  }

  private static func openPage(of gateway: Gateway, _ role: String, _ context: Context) async throws -> OpeningPage? {
    guard let url = try await gateway.makePairingTicket(role: role).localURL else {
      throw UsageError("--open needs the dashboard, at an address of this machine's own.", in: "serve")
    }
    let page = try OpeningPage(url, in: folder(context))
    if let fault = page.show() { await context.printer.report(.warning(fault)) }
    return page
  }

  // MARK: Watchdog and stop

  /// Notifies the supervisor twice within the watchdog timeout; a loop that hangs sends nothing.
  private static func reportAlive(_ gateway: Gateway, _ supervisor: Supervisor, _ eventThread: EventThread) async {
    guard let time = supervisor.watchdogTime else { return }
    while !Task.isCancelled {
      await gateway.waitForLoop()
      supervisor.notify(.alive)
      await eventThread.wait(for: time / 2)
    }
  }

  private static func stop(_ gateway: Gateway, _ context: Context, _ supervisor: Supervisor) async {
    let time = drainTime(context)
    let count = await gateway.workUnderWay
    let status = "draining: \(count) under way"
    supervisor.notify(.stopping(within: time + goodbyeMax, status: status))
    if count > 0 { await context.printer.report(.draining(count, within: time)) }
    await gateway.drain(within: time)
    await gateway.stop()
  }

  private static func drainTime(_ context: Context) -> Duration { context.invocation.duration("drain-time") ?? .zero }

  // MARK: Options

  private static func options(
    _ context: Context, _ level: LogRecord.Level, _ supervisor: Supervisor
  ) throws -> GatewayOptions {
    let invocation = context.invocation
    var options = GatewayOptions(folder: try folder(context))
    options.host = try context.hostOptions()
    options.host.web.allowsLoopback = false
    options.host.sockets = supervisor.sockets
    options.host.listen = invocation.texts("listen")
    options.name = context.name
    options.logLevel = level
    options.hostNames = Set(invocation.texts("host-name").map { $0.lowercased() })
    options.origins = Set(invocation.texts("origin"))
    if let time = invocation.duration("away-after") { options.awayTime = time }
    if let time = invocation.duration("scrub-time") { options.scrubTime = time }
    options.isHTTPSOnly = invocation.has("https-only")
    if let path = invocation.text("base-path") { options.basePath = path }
    options.trustedProxies = invocation.texts("trusted-proxy")
    options.metricsFrom = invocation.texts("metrics-from")
    for limit in GatewayLimits.all {
      if let number = invocation.number(limit.option) { options.limits[limit] = number }
    }
    options.certificate = try certificate(invocation)
    if let life = invocation.duration("code-life") { options.pairingCodeLifetime = life }
    options.dashboardFolder =
      try invocation.has("no-dashboard") ? nil : site(invocation) ?? FileSystem.installed("public")
    options.contract = FileSystem.installed("openapi/vicinity.json")
    return options
  }

  /// The folder of a gateway's data, in which programs of this machine reach it.
  static func folder(_ context: Context) throws -> String {
    if let folder = context.invocation.text("folder") { return FileSystem.expanded(folder) }
    guard let keys = try context.keys.path() else {
      throw UsageError(
        "--keys ephemeral leaves the gateway no folder: name one with --folder.", in: context.invocation.command.name)
    }
    return keys + "/gateway"
  }

  private static func site(_ invocation: Invocation) throws(UsageError) -> String? {
    guard let folder = invocation.text("site").map(FileSystem.expanded) else { return nil }
    if FileSystem.isFile("\(folder)/index.html") { return folder }
    throw UsageError("--site names a folder with an index.html in it; \(folder) has none.", in: "serve")
  }

  private static func certificate(_ invocation: Invocation) throws(UsageError) -> CertificateFiles? {
    switch (invocation.text("certificate"), invocation.text("key")) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return CertificateFiles(certificate: FileSystem.expanded(certificate), key: FileSystem.expanded(key))
    default: throw UsageError("--certificate and --key go together: give both, or none of them.", in: "serve")
    }
  }

  /// Whether the operator's code may be printed: on a terminal or with `--show-code`, so that no log has it by default.
  private static func mayShowCode(_ context: Context) -> Bool {
    context.terminal.isOutputTerminal || context.invocation.has("show-code")
  }
}
