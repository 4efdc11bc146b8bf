internal import Notation
internal import Reactor

extension Core {
  /// Makes a pairing code, which is shown on this machine only.
  func makeTicket(_ name: String, _ scopes: Scopes = .all) throws(Problem) -> PairingTicket {
    guard let role = Role(rawValue: name) else {
      let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(.invalidParameter, "there is no role \(QuotedText.of(name)): there are \(roles)", field: "role")
    }
    let code = try clients.makeCode(role, scopes, lasting: nil, for: nil)
    show(code)
    let text = Secrets.shown(code: code.text)
    return PairingTicket(
      code: text, role: role.rawValue, scopes: scopes == .all ? [] : scopes.words,
      seconds: Int(clients.codeTime.components.seconds),
      url: site.isEmpty ? nil : url(for: role).map { "\($0)/#code=\(text)" },
      localURL: site.isEmpty ? nil : localURL.map { "\($0)/#code=\(text)" })
  }

  /// Opens the local socket for `vicinity pair`, `vicinity admin` and `vicinity backup`.
  func openControlSocket() throws(Problem) {
    do throws(SystemError) {
      controlSocket = try LocalControlSocket(in: options.folder, on: reactor) {
        [unowned self] (question, number) throws(Problem) in
        var fields = try Fields(question)
        if let target = try fields.text("reset") {
          try fields.end()
          try reset(target, for: number)
          return nil
        }
        if let place = try fields.text("backup") {
          try fields.end()
          answerLater(number) { try await $0.backUp(to: place) }
          return nil
        }
        let role = try fields.text("role") ?? Role.operator.rawValue
        let scopes = try fields.scopes("scopes") ?? .all
        try fields.end()
        return try makeTicket(role, scopes).json
      }
    } catch {
      throw Problem(.unavailable, "pairing codes cannot be asked for in \(options.folder): \(error)")
    }
  }

  private func reset(_ target: String, for visitor: UInt64) throws(Problem) {
    guard let target = AdminReset.Target(rawValue: target) else {
      throw Problem(.invalidParameter, "tokens of \(QuotedText.of(target)) are none", field: "reset")
    }
    answerLater(visitor) { try await $0.reset(target) }
  }

  private func answerLater(_ visitor: UInt64, _ work: @escaping @Sendable (Core) async throws -> JSON) {
    controlSocket?.cancelDeadline(of: visitor)
    start { core in
      let answer: JSON
      do {
        answer = try await work(core)
      } catch {
        answer = ["problem": Problem(wrapping: error).json]
      }
      core.controlSocket?.send(answer, to: visitor)
    }
  }
}
