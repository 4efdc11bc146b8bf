internal import Notation

/// The settings that an admin has changed while the gateway ran. They go before its options, over restarts too, until they are null
/// again.
struct GatewaySettings: Hashable, Sendable {
  /// The name that clients see; its own peer has that of the options.
  var name: String?
  var logLevel: LogRecord.Level?
  /// By their names in `/v1/gateway`.
  var limits: [String: Int] = [:]

  /// The limits that may be changed: each is looked up whenever it is enforced, and a lower one takes nothing from anybody.
  static let limits: [GatewayLimits.Entry] = {
    let names: Set = [
      "peersPerClient", "sessionsPerPeer", "resourcesPerSession", "resourceBytes", "resourceBytesPerClient",
      "historyBytesPerClient",
    ]
    return GatewayLimits.all.filter { names.contains($0.name) }
  }()

  init() {}

  /// Ignores what is unknown, as of a later release.
  init(stored json: JSON) {
    name = json["name"]?.text
    logLevel = json["logLevel"]?.text.flatMap(LogRecord.Level.init)
    for entry in Self.limits {
      if let value = json["limits"]?[entry.name]?.integer { limits[entry.name] = Int(value) }
    }
  }

  var json: JSON {
    var members: [JSON.Member] = []
    if let name { members.append(.init("name", .text(name))) }
    if let logLevel { members.append(.init("logLevel", .text(logLevel.rawValue))) }
    let changed = Self.limits.compactMap { entry in limits[entry.name].map { JSON.Member(entry.name, .number($0)) } }
    if !changed.isEmpty { members.append(.init("limits", .object(changed))) }
    return .object(members)
  }

  /// The limits of the options with those that were changed.
  func limits(over options: GatewayLimits) -> GatewayLimits {
    var all = options
    for entry in Self.limits {
      if let value = limits[entry.name] { all[entry] = value }
    }
    return all
  }

  /// Takes the changes of a request, and returns their names.
  mutating func change(_ fields: inout Fields) throws(Problem) -> [String] {
    var changed: [String] = []
    if let text = try fields.textOrNull("name") {
      name = text
      changed.append("name")
    }
    if let word = try fields.textOrNull("logLevel") {
      logLevel = word == nil ? nil : try fields.word("logLevel")
      changed.append("logLevel")
    }
    if var new = try fields.object("limits") {
      for entry in Self.limits {
        guard let value = new.value(entry.name) else { continue }
        let range = Int64(entry.range.lowerBound)...Int64(entry.range.upperBound)
        limits[entry.name] = value == .null ? nil : try new.integer(entry.name, in: range).map(Int.init)
        changed.append(entry.name)
      }
      try new.end()
    }
    try fields.end()
    return changed
  }
}
