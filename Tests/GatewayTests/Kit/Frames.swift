internal import Foundation
internal import Notation
internal import Synchronization

/// A check of the frames of one WebSocket: their shapes follow `openapi/websocket.yaml`, and their answers the
/// contract.
final class Frames: Sendable {
  private static let shapes: JSON = {
    let path = Document.path.replacingOccurrences(of: "vicinity.json", with: "websocket.json")
    guard let text = try? String(contentsOfFile: path, encoding: .utf8), let json = try? JSON(parsing: text) else {
      preconditionFailure("\(path) cannot be read")
    }
    return json
  }()

  private struct Memory {
    /// Requests by their IDs.
    var questions: [(id: JSON, frame: JSON)] = []
    /// Paths by the numbers of their subscriptions.
    var channels: [Int64: String] = [:]
  }

  private let isStream: Bool
  private let memory = Mutex(Memory())

  init(_ subprotocol: String) { isStream = subprotocol == "vicinity.stream.v1" }

  func faults(ofSaid frame: JSON) -> [String] {
    if let id = frame["id"] { memory.withLock { $0.questions.append((id, frame)) } }
    return Self.faults(of: frame, isStream ? "stream" : "client")
  }

  func faults(ofHeard frame: JSON) -> [String] {
    let faults = Self.faults(of: frame, "server")
    if !faults.isEmpty { return faults }
    let items = (frame["put"].map { [$0] } ?? []) + (frame["page"]?["put"]?.list ?? [])
    if !items.isEmpty, let path = memory.withLock({ $0.channels[frame["n"]?.integer ?? -1] }) {
      guard let item = Document.shared.item(ofListAt: path) else { return ["\(path) is no list"] }
      return items.flatMap { Document.shared.faults(of: $0, item) }
    }
    let question = memory.withLock { memory in
      memory.questions.firstIndex { $0.id == frame["id"] }.map { memory.questions.remove(at: $0).frame }
    }
    guard let ok = frame["ok"], let question else { return [] }
    return answers(ok, to: question)
  }

  private func answers(_ ok: JSON, to question: JSON) -> [String] {
    for shape in Self.shapes["answers"]?.members ?? [] {
      guard let asked = question[shape.name] else { continue }
      var faults = Document.shared.faults(of: ok, shape.value)
      switch shape.name {
      case "request":
        faults += Document.shared.faults(ofSuccess: ok, to: asked["method"]?.text ?? "", asked["path"]?.text ?? "")
      case "subscribe":
        let path = String((asked["channel"]?.text ?? "").prefix { $0 != "?" })
        if let number = ok["number"]?.integer { memory.withLock { $0.channels[number] = path } }
        let item = Document.shared.item(ofListAt: path) ?? .null
        faults += (ok["items"]?.list ?? []).flatMap { Document.shared.faults(of: $0, item) }
      default: break
      }
      return faults
    }
    return ["nobody has asked for it"]
  }

  private static func faults(of frame: JSON, _ side: String) -> [String] {
    for shape in shapes[side]?.members ?? [] where frame[shape.name] != nil {
      return Document.shared.faults(of: frame, shape.value)
    }
    return ["it is no frame of the \(side)'s"]
  }
}
