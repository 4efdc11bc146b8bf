internal import Glibc
internal import Notation
internal import Reactor

extension PairingTicket {
  static let timeout = 10

  /// Asks the gateway that runs on this machine with that folder. It blocks until the answer.
  public static func request(
    from folder: String, role: String, scopes: [String] = []
  ) throws(PairingFailure) -> PairingTicket {
    var question: [JSON.Member] = [.init("role", .text(role))]
    if !scopes.isEmpty { question.append(.init("scopes", .list(scopes.map(JSON.text)))) }
    return try PairingTicket(answer(to: .object(question), in: folder))
  }

  /// The gateway's answer to a local question.
  static func answer(
    to question: JSON, in folder: String, timeout: Int = PairingTicket.timeout
  ) throws(PairingFailure) -> JSON {
    let json: JSON
    do throws(SystemError) {
      json = try ask(question.bytes + [UInt8(ascii: "\n")], folder, timeout)
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR, ECONNREFUSED: throw .nobody(folder: folder)
      case EACCES, EPERM: throw .othersFolder(folder: folder)
      default: throw .failed(error.description)
      }
    }
    if let detail = json["problem"]?["detail"]?.text { throw .refused(detail) }
    return json
  }

  init(_ json: JSON) throws(PairingFailure) {
    guard let code = json["code"]?.text, let role = json["role"]?.text, case .integer(let seconds)? = json["seconds"]
    else { throw .failed("the gateway's answer is not valid: it may have another version") }
    let scopes = json["scopes"]?.list?.compactMap(\.text) ?? []
    self.init(
      code: code, role: role, scopes: scopes, seconds: Int(seconds), url: json["url"]?.text,
      localURL: json["localURL"]?.text)
  }

  private static func ask(_ question: [UInt8], _ folder: String, _ timeout: Int) throws(SystemError) -> JSON {
    let socket = try Descriptor.connected(toFolder: folder, named: LocalControlSocket.name, patience: timeout)
    let answer = try socket.exchange(question, bytesMax: LocalControlSocket.lineBytesMax)
    return (try? JSON(parsing: answer)) ?? .null
  }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("code", .text(code)), .init("role", .text(role)), .init("seconds", .number(seconds)),
    ]
    if !scopes.isEmpty { members.append(.init("scopes", .list(scopes.map(JSON.text)))) }
    if let url { members.append(.init("url", .text(url))) }
    if let localURL { members.append(.init("localURL", .text(localURL))) }
    return .object(members)
  }
}
