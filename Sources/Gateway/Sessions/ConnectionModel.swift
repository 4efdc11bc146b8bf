internal import Nearby
internal import Notation

/// A connection of a session to a peer by data that were exchanged another way.
final class ConnectionModel {
  enum State: String, CaseIterable { case pending, connected, timedOut, cancelled, failed }

  let id = Secrets.id()
  let peer: String
  let attempt: Attempt
  let createdAt: Timestamp
  let expiresAt: Timestamp
  var state = State.pending
  var problem: Problem?

  init(_ attempt: Attempt, with peer: String, at time: Timestamp, until end: Timestamp) {
    self.attempt = attempt
    self.peer = peer
    createdAt = time
    expiresAt = end
  }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(peer)), .init("state", .text(state.rawValue)),
      .init("createdAt", .text(createdAt.description)), .init("expiresAt", .text(expiresAt.description)),
    ]
    if let problem { members.append(.init("problem", problem.json)) }
    return .object(members)
  }
}

extension Core {
  static let connectionsPerSessionMax = 256

  func add(_ connection: ConnectionModel, to session: SessionModel) -> Item? {
    session.connectionModels[connection.id] = connection
    let (id, place, attempt) = (connection.id, session.id, connection.attempt)
    start { core in
      do {
        try await attempt.joined()
        core.settle(id, in: place, nil)
      } catch {
        core.settle(id, in: place, error as? NearbyError)
      }
    }
    return publish(connection, in: session)
  }

  @discardableResult
  private func publish(_ connection: ConnectionModel, in session: SessionModel) -> Item? {
    guard exists(connection, in: session) else { return nil }
    return session.connections.put(
      connection.id, connection.json, owner: session.owner,
      facets: ["peer": connection.peer, "state": connection.state.rawValue])
  }

  private func settle(_ id: String, in session: String, _ error: NearbyError?) {
    guard let session = sessions[session], let connection = session.connectionModels[id] else { return }
    connection.problem = error.map { Problem($0) }
    connection.state =
      switch error?.code {
      case nil: .connected
      case .timedOut?: .timedOut
      case .cancelled?: .cancelled
      default: .failed
      }
    publish(connection, in: session)
    events.publish(
      "connectionEnded", about: "\(session.connections.path)/\(id)", session.owner,
      [.init("state", .text(connection.state.rawValue))])
  }
}
