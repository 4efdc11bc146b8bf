internal import Nearby

/// Finds out why peers do not see each other.
enum DoctorCommand {
  private static let defaultTime: Duration = .seconds(3)

  static func run(_ context: Context) async throws -> ExitCode {
    let columns = min(100, context.terminal.columns())
    let port = UInt16(context.invocation.number("port") ?? 0)
    let time = context.invocation.duration("timeout") ?? defaultTime
    var all: [Finding] = []
    func tell(_ findings: [Finding]) async {
      for finding in findings { await context.printer.report(.finding(finding, columns: columns)) }
      all += findings
    }
    let media = try context.hostOptions().media
    await tell(FolderCheck.findings(media) + BluetoothCheck.findings(media))
    guard media.contains(.lan) else {
      await tell(try await HostCheck.findings(context, for: time))
      await context.printer.report(.diagnosis(all))
      return all.contains { $0.state == .bad } ? .failed : .done
    }
    let interfaces = CheckedInterface.all()
    let bus = await BusReport.gather()
    await tell(DaemonCheck.findings(interfaces, bus))
    await tell(InterfaceCheck.findings(interfaces))
    async let met = HostCheck.findings(context, for: time)
    let heard = await MulticastCheck.listen(on: interfaces, for: time) { await context.eventThread.wait(for: $0) }
    await tell(MulticastCheck.findings(heard, interfaces, time: time))
    await tell(PortCheck.findings(port))
    await tell(FirewallCheck.findings(linkPort: port, bus))
    await tell(await IsolationCheck.findings(heard) { await context.eventThread.wait(for: $0) })
    await tell(await RadioCheck.findings())
    await tell(try await met)
    await context.printer.report(.diagnosis(all))
    return all.contains { $0.state == .bad } ? .failed : .done
  }
}
