internal import DBus
internal import Glibc
internal import Reactor

/// A report of what the system's bus, and daemons on it, say of themselves.
package struct BusReport: Sendable {
  struct Failure: Equatable {
    let path: String
    let code: CInt
  }

  struct Avahi {
    let version: String?
    /// Its `AvahiServerState`; nil where it does not answer.
    let state: UInt32?
    let hostName: String?
  }

  struct Firewalld {
    /// Whether its default zone lets multicast DNS in; nil if it does not report that.
    let letsDiscoveryIn: Bool?
  }

  let path: String
  /// The reason why nothing is known.
  var failure: Failure?
  /// Nil where it does not run.
  var avahi: Avahi?
  /// The same.
  var firewalld: Firewalld?

  /// Asks a bus, on a thread of its own.
  package static func gather(from path: String = BusConnection.systemPath) async -> BusReport {
    guard let reactor = try? Reactor() else { return BusReport(path: path, failure: Failure(path: path, code: EMFILE)) }
    reactor.start()
    defer { reactor.stop() }
    return await reactor.spawn { await ask(path, on: reactor) }.value
  }

  private static func ask(_ path: String, on reactor: Reactor) async -> BusReport {
    do throws(BusError) {
      let bus = try BusConnection(path, on: reactor)
      defer { bus.close() }
      return BusReport(
        path: path,
        avahi: try await runs(avahiName, bus) ? await avahi(bus) : nil,
        firewalld: try await runs(firewalldName, bus) ? await firewalld(bus) : nil)
    } catch {
      return BusReport(path: path, failure: Failure(path: path, code: code(of: error)))
    }
  }

  private static let avahiName = "org.freedesktop.Avahi"
  private static let firewalldName = "org.fedoraproject.FirewallD1"

  private static func runs(_ service: String, _ bus: BusConnection) async throws(BusError) -> Bool {
    let (name, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
    return try await bus.call(name, path, name, "NameHasOwner", [.string(service)]) == [.boolean(true)]
  }

  private static func avahi(_ bus: BusConnection) async -> Avahi {
    func ask(_ member: String) async -> BusValue? {
      try? await bus.call(avahiName, "/", "\(avahiName).Server", member).first
    }
    func text(_ value: BusValue?) -> String? { if case .string(let text) = value { text } else { nil } }
    var state: UInt32?
    if case .int32(let number) = await ask("GetState") { state = UInt32(bitPattern: number) }
    return Avahi(
      version: text(await ask("GetVersionString")), state: state, hostName: text(await ask("GetHostNameFqdn")))
  }

  private static func firewalld(_ bus: BusConnection) async -> Firewalld {
    let answer = try? await bus.call(
      firewalldName, "/org/fedoraproject/FirewallD1", "\(firewalldName).zone", "queryService",
      [.string(""), .string("mdns")])
    if case .boolean(let isIn) = answer?.first { return Firewalld(letsDiscoveryIn: isIn) }
    return Firewalld(letsDiscoveryIn: nil)
  }

  private static func code(of error: BusError) -> CInt {
    switch error.name {
    case BusError.noSocketName: ENOENT
    case BusError.noServerName: ECONNREFUSED
    case BusError.accessDeniedName, BusError.refused.name: EACCES
    case BusError.timedOut.name: ETIMEDOUT
    default: EPROTO
    }
  }
}
