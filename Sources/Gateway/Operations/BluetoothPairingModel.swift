internal import Nearby
internal import Notation

/// A question whether a Bluetooth device may be paired with the gateway's machine, while it is open.
final class BluetoothPairingModel {
  enum State: String, CaseIterable { case pending, accepted, declined, timedOut, cancelled }

  let id = Secrets.id()
  let pairing: BluetoothPairing
  private let createdAt = Timestamp.now
  /// Whether somebody is answering it.
  var isAnswered = false

  init(_ pairing: BluetoothPairing) { self.pairing = pairing }

  var path: String { "/v1/bluetooth-pairings/\(id)" }

  func json(_ state: State) -> JSON {
    var members: [JSON.Member] = [.init("id", .text(id)), .init("device", .text(pairing.device))]
    if !pairing.name.isEmpty { members.append(.init("displayName", .text(pairing.name))) }
    if let number = pairing.number { members.append(.init("number", .text(number))) }
    members += [
      .init("state", .text(state.rawValue)), .init("createdAt", .text(createdAt.description)),
      .init("expiresAt", .text((createdAt + pairing.timeLeft).description)),
    ]
    return .object(members)
  }
}

extension Core {
  /// Limit for the list, of which the oldest are removed: a question is of interest while it is open, and shortly after.
  static let bluetoothPairingsMax = 100
  /// More than all processes of the host ask at a time.
  private static let openPairingsMax = 32

  func handle(_ pairing: BluetoothPairing) {
    guard bluetoothPairings.count < Self.openPairingsMax else { return start { _ in try? await pairing.answer(false) } }
    let model = BluetoothPairingModel(pairing)
    bluetoothPairings[model.id] = model
    publish(model, .pending)
    log(
      .info, for: .operator, "bluetoothPairing",
      "the Bluetooth device \(pairing.device) wants to be paired: an operator lets it in at \(model.path), or nobody does",
      [.init("device", .text(pairing.device))])
    report(model, "bluetoothPairing", .pending)
    let id = model.id
    start { core in core.settle(id, BluetoothPairingModel.State(await pairing.ended)) }
  }

  private func settle(_ id: String, _ state: BluetoothPairingModel.State) {
    guard let model = bluetoothPairings.removeValue(forKey: id) else { return }
    publish(model, state)
    report(model, "bluetoothPairingEnded", state)
  }

  private func publish(_ model: BluetoothPairingModel, _ state: BluetoothPairingModel.State) {
    bluetoothPairingList.put(model.id, model.json(state), owner: .operators, facets: ["state": state.rawValue])
  }

  private func report(_ model: BluetoothPairingModel, _ event: String, _ state: BluetoothPairingModel.State) {
    let name = model.pairing.name.isEmpty ? model.pairing.device : model.pairing.name
    events.publish(
      event, about: model.path, .operators, [.init("displayName", .text(name)), .init("state", .text(state.rawValue))])
  }

  /// Answers it; returns once the device has the answer, or the question has ended otherwise.
  func answer(_ model: BluetoothPairingModel, isAccepted: Bool, by client: ClientID) async throws {
    model.isAnswered = true
    defer { model.isAnswered = false }
    try await model.pairing.answer(isAccepted)
    let state = BluetoothPairingModel.State(await model.pairing.ended)
    settle(model.id, state)
    let device = [JSON.Member("device", .text(model.pairing.device))]
    switch state {
    case .accepted: audit.add(.accepted, about: model.path, by: .client(client), device)
    case .declined: audit.add(.declined, about: model.path, by: .client(client), device)
    case .pending, .timedOut, .cancelled: break
    }
  }
}

extension BluetoothPairingModel.State {
  init(_ end: BluetoothPairing.End) {
    self =
      switch end {
      case .accepted: .accepted
      case .declined: .declined
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      }
  }
}
