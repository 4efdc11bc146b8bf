internal import Gateway
internal import Nearby

/// The gateway: browsers, scripts and services join nearby sessions through it.
enum ServeCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    if context.invocation.has("show-config") { return await ConfigurationTable.show(context) }
    let gateway = try await Gateway.start(options(context))
    let addresses = await gateway.host.addresses
    await context.announcer.tell(.serving(gateway.host.id, at: addresses, await gateway.web))
    if mayShowCode(context) {
      await context.announcer.tell(.pairingCode(try await gateway.makePairingTicket(), on: context.terminal))
    } else {
      await context.announcer.tell(.codeElsewhere)
    }
    async let conditions: Void = Conditions.tell(gateway.conditions) { await context.announcer.tell($0) }
    for await signal in context.watch.signals where signal != .redraw {
      await gateway.stop()
      await conditions
      return signal == .interrupt ? .interrupted : .terminated
    }
    return .done
  }

  private static func options(_ context: Context) throws -> GatewayOptions {
    let invocation = context.invocation
    var options = GatewayOptions(folder: try folder(context))
    options.host = try context.hostOptions()
    options.host.web.allowsLoopback = false
    options.name = context.name
    options.hostNames = Set(invocation.texts("host-name").map { $0.lowercased() })
    options.origins = Set(invocation.texts("origin"))
    options.metricsFrom = invocation.texts("metrics-from")
    options.certificate = try certificate(invocation)
    options.site = invocation.text("site").map(FileSystem.expanded) ?? FileSystem.installed("public")
    options.contract = FileSystem.installed("openapi/vicinity.yaml")
    return options
  }

  /// Where a gateway keeps what it has, and is asked by programs of this machine.
  static func folder(_ context: Context) throws -> String {
    if let folder = context.invocation.text("folder") { return FileSystem.expanded(folder) }
    guard let keys = try context.keys.path() else {
      throw Misuse(
        "--keys ephemeral leaves the gateway no folder: name one with --folder.", in: context.invocation.command.name)
    }
    return keys + "/gateway"
  }

  private static func certificate(_ invocation: Invocation) throws(Misuse) -> CertificateFiles? {
    switch (invocation.text("certificate"), invocation.text("key")) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return CertificateFiles(certificate: FileSystem.expanded(certificate), key: FileSystem.expanded(key))
    default: throw Misuse("--certificate and --key go together: give both, or none of them.", in: "serve")
    }
  }

  /// What lets an operator in stands on a terminal, and in no log.
  private static func mayShowCode(_ context: Context) -> Bool {
    context.terminal.isOutputTerminal || context.invocation.has("show-code")
  }
}
