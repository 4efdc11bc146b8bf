internal import Notation
internal import Web

/// Bluetooth devices that want to be paired with the gateway's machine.
extension Routes {
  static let bluetoothPairings: [Route] = [
    Route(
      .get, "/v1/bluetooth-pairings", .role(.operator),
      .collection(facets: [Facet("state", of: BluetoothPairingModel.State.self)]) { core, _ in
        core.bluetoothPairingList
      }),
    Route(
      .get, "/v1/bluetooth-pairings/{pairing}", .role(.operator),
      .now { core, call in try core.item(call[0], in: core.bluetoothPairingList, "Bluetooth pairing", call) }),
    Route(.patch, "/v1/bluetooth-pairings/{pairing}", .role(.operator), body: .json, .later(answerPairing)),
  ]

  private enum Answer: String, CaseIterable { case accepted, declined }

  private static func answerPairing(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    guard let item = core.bluetoothPairingList[call[0]] else { throw Problem.missing("Bluetooth pairing", call[0]) }
    try call.checkMatch(item)
    var fields = try call.fields()
    let answer = try fields.word("state", of: Answer.self)
    try fields.end()
    guard let answer else { throw fields.missing("state") }
    guard let model = core.bluetoothPairings[call[0]] else {
      throw Problem(
        .conflict, "the question has ended: it is '\(item.facets["state"] ?? "")'", field: "state", rule: "ended")
    }
    guard !model.isAnswered else {
      throw Problem(.conflict, "the question is being answered already", field: "state")
    }
    try await core.answer(model, isAccepted: answer == .accepted, by: client.id)
    return .item(try core.bluetoothPairingList[model.id].orGone("Bluetooth pairing"))
  }
}
