internal import Glibc
internal import Notation
internal import Reactor
internal import Store

/// A reset for an operator whose token is lost, or known to others: on the gateway's own machine it revokes the tokens,
/// and offers a new pairing code.
public struct AdminReset: Hashable, Sendable {
  public enum Target: String, Sendable {
    /// Clients that may let others in: operators and admins.
    case operators
    case everybody

    func covers(_ role: Role) -> Bool { self == .everybody || role >= .operator }
  }

  /// The number of revoked tokens.
  public let count: Int
  /// The pairing code for the next operator; nil where no gateway runs: `vicinity pair` gets one, once it does.
  public let ticket: PairingTicket?

  /// Asks the running gateway, or changes the store of a stopped one. It blocks until the answer.
  public static func run(in folder: String, _ target: Target) async throws(PairingFailure) -> AdminReset {
    do throws(PairingFailure) {
      let json = try PairingTicket.answer(to: ["reset": .text(target.rawValue)], in: folder)
      guard case .integer(let count)? = json["count"] else {
        throw .failed("the gateway's answer is not valid: it may have another version")
      }
      return AdminReset(count: Int(count), ticket: try PairingTicket(json))
    } catch {
      guard case .nobody = error else { throw error }
      return AdminReset(count: try await removeStored(folder, target), ticket: nil)
    }
  }

  private static func removeStored(_ folder: String, _ target: Target) async throws(PairingFailure) -> Int {
    let writer = try Gateway.openStoredDatabase(in: folder)
    do {
      let count = try await writer.perform { database in
        let stored = try database.clients().filter { Role(rawValue: $0.role).map(target.covers) ?? true }
        for client in stored { try database.removeClient(client.id) }
        return stored.count
      }
      await writer.close()
      return count
    } catch {
      throw .failed("\(error)")
    }
  }
}

extension Core {
  /// Revokes these tokens; returns once that would survive a power cut.
  func reset(_ target: AdminReset.Target) async throws -> JSON {
    let covered = clients.clients.values.filter { target.covers($0.role) }
    for client in covered {
      try await revoke(client.id)
      audit.add(.revoked, about: "/v1/clients/\(client.id)", by: .machine)
    }
    await audit.flush()
    for code in clients.openCodes where target.covers(code.role) { _ = clients.revokeCode(code.id) }
    refreshCodes()
    log(
      .warning, for: .operator, "reset", "tokens were ended on the machine itself",
      [.init("count", .number(covered.count)), .init("whose", .text(target.rawValue))])
    guard case .object(let members) = try makeTicket(Role.operator.rawValue).json else { return [:] }
    return .object(members + [.init("count", .number(covered.count))])
  }
}
