internal import Notation
internal import Reactor

extension Core {
  /// What is told on this machine alone.
  func makeTicket(_ name: String) throws(Problem) -> PairingTicket {
    guard let role = Role(rawValue: name) else {
      let roles = Role.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(.invalidParameter, "there is no role \(PlainName.of(name)): there are \(roles)", field: "role")
    }
    let code = try clients.makeCode(role, lasting: nil)
    show(code)
    let text = Secrets.shown(code: code.text)
    return PairingTicket(
      code: text, role: role.rawValue, seconds: Int(clients.codeTime.components.seconds),
      url: urls.first.map { "\($0)/#code=\(text)" })
  }

  /// For `vicinity pair` and `vicinity admin`.
  func openPairingDesk() throws(Problem) {
    do throws(SystemError) {
      pairingDesk = try PairingDesk(in: options.folder, on: reactor) {
        [unowned self] (question, number) throws(Problem) in
        var fields = try Fields(question)
        if let whose = try fields.text("reset") {
          try fields.end()
          try reset(whose, for: number)
          return nil
        }
        let role = try fields.text("role") ?? Role.operator.rawValue
        try fields.end()
        return try makeTicket(role).json
      }
    } catch {
      throw Problem(.unavailable, "pairing codes cannot be asked for in \(options.folder): \(error)")
    }
  }

  private func reset(_ whose: String, for visitor: UInt64) throws(Problem) {
    guard let whose = AdminReset.Whose(rawValue: whose) else {
      throw Problem(.invalidParameter, "tokens of \(PlainName.of(whose)) are none", field: "reset")
    }
    start { core in
      let answer: JSON
      do {
        answer = try await core.reset(whose)
      } catch {
        answer = ["problem": Problem(wrapping: error).json]
      }
      core.pairingDesk?.say(answer, to: visitor)
    }
  }
}
