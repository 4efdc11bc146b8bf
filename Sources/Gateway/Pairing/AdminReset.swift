internal import Glibc
internal import Notation
internal import Reactor
internal import Store

/// For an operator who has lost the token, or whose token others may have: on the gateway's own machine it is ended, and
/// a new one can be had.
public struct AdminReset: Hashable, Sendable {
  public enum Whose: String, Sendable {
    /// Of those who may let others in: operators and admins.
    case operators
    case everybody

    func covers(_ role: Role) -> Bool { self == .everybody || role >= .operator }
  }

  /// How many tokens are worth nothing any more.
  public let count: Int
  /// What lets the next operator in; nil where no gateway runs: `vicinity pair` gets one, once it does.
  public let ticket: PairingTicket?

  /// By the running gateway, or in what one that does not run has stored. It waits for the answer.
  public static func run(in folder: String, _ whose: Whose) async throws(PairingFailure) -> AdminReset {
    do throws(PairingFailure) {
      let json = try PairingTicket.answer(to: ["reset": .text(whose.rawValue)], in: folder)
      guard case .integer(let count)? = json["count"] else {
        throw .failed("the gateway gave no answer that is understood: it may be of another version")
      }
      return AdminReset(count: Int(count), ticket: try PairingTicket(json))
    } catch {
      guard case .nobody = error else { throw error }
      return AdminReset(count: try await removeStored(folder, whose), ticket: nil)
    }
  }

  private static func removeStored(_ folder: String, _ whose: Whose) async throws(PairingFailure) -> Int {
    let writer = try Gateway.storeAtRest(in: folder)
    do {
      let count = try await writer.perform { database in
        let stored = try database.clients().filter { Role(rawValue: $0.role).map(whose.covers) ?? true }
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
  /// Returns once these tokens are worth nothing, whatever happens.
  func reset(_ whose: AdminReset.Whose) async throws -> JSON {
    let covered = clients.clients.values.filter { whose.covers($0.role) }
    for client in covered {
      try await revoke(client.id)
      audit(.revoked, about: "/v1/clients/\(client.id)", by: .machine)
    }
    await audited()
    for code in clients.openCodes where whose.covers(code.role) { _ = clients.revokeCode(code.id) }
    refreshCodes()
    log(
      .warning, for: .operator, "reset", "tokens were ended on the machine itself",
      [.init("count", .number(covered.count)), .init("whose", .text(whose.rawValue))])
    guard case .object(let members) = try makeTicket(Role.operator.rawValue).json else { return [:] }
    return .object(members + [.init("count", .number(covered.count))])
  }
}
