internal import Nearby
internal import Notation
internal import Store

/// Settings that are changed while the gateway runs.
extension Core {
  /// The name that clients see.
  var name: String { settings.name ?? options.name }

  /// Restores the settings from before this start.
  func restoreSettings(_ stored: [UInt8]?) {
    guard let stored, let json = try? JSON(parsing: stored) else { return }
    use(GatewaySettings(stored: json))
  }

  /// Changes come one after the other, as those of each thing do.
  func changeSettings(_ call: Call) async throws -> Reply {
    let client = try call.need()
    guard client.scopes == .all else {
      throw Problem.lacking(.all, client, to: "a change of the gateway's settings")
    }
    var fields = try call.fields()
    var new = settings
    let changed = try new.change(&fields)
    if let name = new.name {
      do throws(NearbyError) { try Peer.check(name: name) } catch {
        throw Problem(error, field: "name", rule: "P-ID-1")
      }
    }
    guard new != settings else { return .json(about(to: client)) }
    try await store.perform { [bytes = new.json.bytes] in try $0.keep(settings: bytes) }
    use(new)
    let names = JSON.list(changed.map(JSON.text))
    audit.add(.changed, about: "/v1/gateway", by: .client(client.id), [.init("settings", names)])
    events.publish("settingsChanged", about: "/v1/gateway", .gateway, [.init("settings", names)])
    return .json(about(to: client))
  }

  private func use(_ new: GatewaySettings) {
    settings = new
    currentLimits = new.limits(over: options.limits)
    log.level = new.logLevel ?? options.logLevel
  }
}
