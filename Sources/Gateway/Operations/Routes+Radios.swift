internal import Nearby
internal import Notation
internal import Web

/// Wi-Fi radios of the gateway's machine. What the gateway may do with them is what its user may ask of wpa_supplicant.
extension Routes {
  static let radios: [Route] = [
    Route(
      .get, "/v1/radios", .role(.operator),
      .later { core, _ in
        let (radios, error) = try await core.needRadios().radios()
        var members: [JSON.Member] = [.init("items", .list(radios.map(core.json(of:))))]
        if let error { members.append(.init("problem", Problem(error).json)) }
        return .json(.object(members))
      }),
    Route(
      .get, "/v1/radios/{radio}", .role(.operator),
      .later { core, call in
        let (radios, _) = try await core.needRadios().radios()
        guard let radio = radios.first(where: { $0.name == call[0] }) else { throw Problem.missing("radio", call[0]) }
        return .json(core.json(of: radio))
      }),
    Route(.put, "/v1/radios/{radio}/network", .role(.operator), body: .json, .later(makeNetwork)),
    Route(
      .delete, "/v1/radios/{radio}/network", .role(.operator),
      .later { core, call in
        do throws(RadioError) { _ = try await core.needRadios().stop(call[0]) } catch { throw Problem(error) }
        return .nothing
      }),
  ]

  private static func makeNetwork(_ core: Core, _ call: Call) async throws -> Reply {
    var fields = try call.fields()
    guard let kind = try fields.word("kind", of: RadioNetwork.Kind.self) else { throw fields.missing("kind") }
    var plan = RadioPlan(kind)
    plan.radio = call[0]
    if let name = try fields.text("name") { plan.name = name }
    plan.password = try fields.text("password")
    let frequencies = Int64(RadioPlan.frequencies.lowerBound)...Int64(RadioPlan.frequencies.upperBound)
    if let frequency = try fields.integer("frequency", in: frequencies) { plan.frequency = Int(frequency) }
    plan.isForced = try fields.bool("force") ?? false
    try fields.end()
    if kind == .group {
      for name in ["name", "password"] where fields.value(name) != nil {
        throw Problem(
          .invalidParameter, "a group's \(name) is made up by wpa_supplicant: leave it out", field: name, rule: "mesh")
      }
    }
    do throws(RadioError) {
      let network = try await core.needRadios().start(plan).network
      core.log(
        .info, for: .operator, "radioNetwork",
        "\(call[0]) has the \(kind.rawValue) '\(network.name)', by a client's request",
        [.init("radio", .text(call[0])), .init("kind", .text(kind.rawValue)), .init("name", .text(network.name))])
      return .json(core.json(of: network), 201)
    } catch {
      throw Problem(error)
    }
  }
}

extension Core {
  /// Ends the networks that an earlier gateway has left, or another program that was killed.
  func endAbandonedNetworks() async {
    guard let radios = try? needRadios() else { return }
    for radio in await radios.stopAbandoned() {
      log(
        .info, for: .operator, "radioNetworkEnded", "\(radio) had a network of a program that is gone: it was ended",
        [.init("radio", .text(radio))])
    }
  }

  /// Its thread begins with the first request, or at once on a machine with radios.
  fileprivate func needRadios() throws(RadioError) -> RadioControl {
    if let radios { return radios }
    do {
      let new = try RadioControl()
      radios = new
      return new
    } catch {
      throw RadioError(wrapping: error)
    }
  }
}

extension Problem {
  init(_ error: RadioError) {
    let kind: Kind =
      switch error.code {
      case .missing: .notFound
      case .forbidden: .forbidden
      case .unsupported: .unsupported
      case .inUse, .blocked: .conflict
      case .invalid: .invalidParameter
      case .unavailable, .failed: .unavailable
      }
    self.init(kind, error.description, field: error.field, rule: error.rule)
  }
}

extension Core {
  fileprivate func json(of radio: Radio) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(radio.name)), .init("state", .text(radio.state.rawValue)),
      .init("kinds", radio.kinds.map { .list($0.map { .text($0.rawValue) }) } ?? .null),
      .init("isManaged", .bool(radio.isManaged)),
    ]
    if let network = radio.network { members.append(.init("network", json(of: network))) }
    return .object(members)
  }

  fileprivate func json(of network: RadioNetwork) -> JSON {
    var members: [JSON.Member] = [
      .init("kind", .text(network.kind.rawValue)), .init("interface", .text(network.interface)),
      .init("name", .text(network.name)), .init("frequency", .number(network.frequency)),
      .init("members", .number(network.members)), .init("stations", .list(network.stations.map(\.json))),
      .init("addressing", .text(network.addressing.rawValue)), .init("isAbandoned", .bool(network.isAbandoned)),
    ]
    if let password = network.password { members.append(.init("password", .text(password))) }
    if let code = network.code { members.append(.init("code", .text(code))) }
    if let url = url(in: network) { members.append(.init("url", .text(url))) }
    return .object(members)
  }

  /// The URL for the browser of a device in the network: the plain one, where there is one, as for other guests.
  private func url(in network: RadioNetwork) -> String? {
    let reachable = urls.filter { url in network.addresses.contains { url.contains("://\($0):") } }
    return reachable.first { $0.hasPrefix("http:") } ?? reachable.first
  }
}

extension RadioStation {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [.init("hardwareAddress", .text(hardware))]
    if let address { members.append(.init("address", .text(address))) }
    if let name { members.append(.init("name", .text(name))) }
    return .object(members)
  }
}
