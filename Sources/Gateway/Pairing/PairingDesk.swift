internal import Glibc
internal import Notation
internal import Reactor

/// Gives pairing codes to local programs, over a socket in the gateway's folder: so that a gateway whose output goes to
/// a log need not print one there.
///
/// One line of JSON each way. The kernel vouches that the program runs as this user or as root. It belongs to its
/// reactor's thread.
final class PairingDesk {
  static let name = "pairing.socket"
  static let lineBytesMax = 1 << 10
  private static let visitorsMax = 8
  /// The time limit for a program's question.
  private static let patience: Duration = .seconds(5)

  private final class Visitor {
    let socket: Descriptor
    var said: [UInt8] = []
    var registration: Registration?
    var deadline: Timer?

    init(_ socket: consuming Descriptor) {
      self.socket = socket
    }
  }

  private let reactor: Reactor
  private let folder: String
  /// Nil if the answer comes later, by `say`.
  private let answer: (JSON, UInt64) throws(Problem) -> JSON?
  private let socket: Descriptor
  private var registration: Registration?
  private var visitors: [UInt64: Visitor] = [:]
  private var lastVisitor: UInt64 = 0

  init(
    in folder: String, on reactor: Reactor, answer: @escaping (JSON, UInt64) throws(Problem) -> JSON?
  ) throws(SystemError) {
    self.folder = folder
    self.reactor = reactor
    self.answer = answer
    // One process holds the gateway's store, so nobody else listens there.
    socket = try .listening(inFolder: folder, named: Self.name)
    registration = try reactor.register(socket, for: .readable) { [unowned self] _ in accept() }
  }

  deinit {
    for visitor in visitors.values { letGo(visitor) }
    if let registration { reactor.deregister(registration) }
    _ = unlink("\(folder)/\(Self.name)")
  }

  private func accept() {
    // Programs beyond the limit try again; a failed accept is reported again in the next turn.
    while visitors.count < Self.visitorsMax, let socket = try? socket.acceptLocal() { welcome(socket) }
    update()
  }

  private func update() {
    guard let registration else { return }
    reactor.update(registration, to: visitors.count < Self.visitorsMax ? .readable : [])
  }

  private func welcome(_ socket: consuming Descriptor) {
    lastVisitor += 1
    let number = lastVisitor
    let visitor = Visitor(socket)
    guard
      let registration = try? reactor.register(visitor.socket, for: .readable, { [unowned self] _ in hear(number) })
    else { return }
    visitor.registration = registration
    visitor.deadline = reactor.schedule(after: Self.patience) { [unowned self] in end(number) }
    visitors[number] = visitor
  }

  private func hear(_ number: UInt64) {
    guard let visitor = visitors[number] else { return }
    var count: Int?
    var room = [UInt8](repeating: 0, count: Self.lineBytesMax)
    do {
      count = try room.withUnsafeMutableBytes { try visitor.socket.receive($0) }
    } catch {
      return end(number)
    }
    guard let count else { return }
    visitor.said += room.prefix(count)
    guard let line = visitor.said.firstIndex(of: UInt8(ascii: "\n")) else {
      if count == 0 || visitor.said.count > Self.lineBytesMax { end(number) }
      return
    }
    if let said = reply(to: Array(visitor.said[..<line]), of: visitor, number) { say(said, to: number) }
  }

  /// Removes the time limit of a program whose answer takes time.
  func waits(_ number: UInt64) {
    if let deadline = visitors[number]?.deadline.take() { reactor.cancel(deadline) }
  }

  func say(_ json: JSON, to number: UInt64) {
    guard let visitor = visitors[number] else { return }
    // The answer is small, and the socket's buffer is empty.
    _ = try? (json.bytes + [UInt8(ascii: "\n")]).withUnsafeBytes { try visitor.socket.send($0) }
    end(number)
  }

  private func reply(to line: [UInt8], of visitor: Visitor, _ number: UInt64) -> JSON? {
    do throws(Problem) {
      guard let user = try? visitor.socket.localUser(), user == geteuid() || user == 0 else {
        throw Problem(.forbidden, "this gateway belongs to another user: ask as that one, or as root")
      }
      guard let question = try? JSON(parsing: line) else { throw Problem(.badRequest, "the question is no JSON") }
      return try answer(question, number)
    } catch {
      return ["problem": error.json]
    }
  }

  private func end(_ number: UInt64) {
    if let visitor = visitors.removeValue(forKey: number) { letGo(visitor) }
    update()
  }

  private func letGo(_ visitor: Visitor) {
    if let registration = visitor.registration { reactor.deregister(registration) }
    if let deadline = visitor.deadline { reactor.cancel(deadline) }
  }
}
