internal import Nearby
internal import Notation
internal import Web

extension Core {
  /// Larger ones are resources.
  static let messageBytesMax = 1 << 20

  func received(_ message: Message, in model: SessionModel) {
    meters.message(.incoming, message.mode, message.bytes.count)
    let isText = String(validating: message.bytes, as: UTF8.self) != nil
    record(
      Secrets.id(), from: message.from.peer.text, name: message.from.name, to: nil, message.mode, message.bytes,
      type: isText ? "text/plain; charset=utf-8" : "application/octet-stream", in: model)
  }

  @discardableResult
  private func record(
    _ id: String, from: String, name: String, to: [String]?, _ mode: Mode, _ bytes: [UInt8], type: String,
    receipt: Receipt? = nil, in model: SessionModel
  ) -> Item {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("from", .text(from)), .init("displayName", .text(name)),
    ]
    if let to { members.append(.init("to", .list(to.map(JSON.text)))) }
    members += [
      .init("mode", .text("\(mode)")), .init("at", .text(Timestamp.now.description)),
      .init("size", .number(bytes.count)),
      .init("contentType", .text(type)),
    ]
    members += Payload.members(bytes, as: "body")
    var written = JSON.object(members).bytes
    if let receipt {
      let head = written.dropLast()
      let delivery = Delivery(of: id, head.count, to: receipt.recipients)
      model.deliveries[receipt.id] = delivery
      written = delivery.written(after: head)
    }
    return model.messages.put(
      id, written: written, owner: model.owner, facets: ["from": from, "mode": "\(mode)"])
  }

  /// Sends to those who are named, or to all who are connected: all of it, or nothing.
  func send(_ call: Call, in model: SessionModel, as id: String) throws -> Item {
    let mode = try mode(call)
    let names = call.query.filter { $0.name == "to" }.map(\.value)
    var recipients: [Member] = []
    for name in names {
      guard let known = model.present.values.first(where: { $0.member.peer.text == name || $0.member.id.text == name }),
        known.isConnected
      else {
        throw Problem(
          .notConnected, "\(PlainName.of(name)) is not connected in this session, and so nothing was sent", field: "to",
          rule: "connected")
      }
      if !recipients.contains(known.member) { recipients.append(known.member) }
    }
    if names.isEmpty, model.connected.isEmpty {
      throw Problem(.notConnected, "nobody is connected in this session, and so nothing was sent", rule: "connected")
    }
    let addressees: Addressees = names.isEmpty ? .all : .only(recipients)
    var receipt: Receipt?
    do {
      switch mode {
      case .reliable: receipt = try model.session.trySend(withReceipt: call.body, to: addressees)
      case .unreliable: try model.session.trySend(call.body, to: addressees, mode)
      }
    } catch {
      guard error.code == .unavailable else { throw Problem(error) }
      var problem = Problem(.tooMany, error.description, rule: "queueFull")
      problem.retryAfter = 1
      throw problem
    }
    meters.message(.outgoing, mode, call.body.count)
    return record(
      id, from: model.peer.id, name: model.peer.peer.name, to: names.isEmpty ? nil : recipients.map(\.peer.text), mode,
      call.body, type: call.headers["Content-Type"] ?? "application/octet-stream", receipt: receipt, in: model)
  }

  private func mode(_ call: Call) throws(Problem) -> Mode {
    switch try call.parameter("mode") {
    case nil, "reliable": return .reliable
    case "unreliable": return .unreliable
    case let text?:
      throw Problem(
        .invalidParameter, "'mode' is \(PlainName.of(text)) and must be 'reliable' or 'unreliable'", field: "mode",
        rule: "oneOf")
    }
  }
}
