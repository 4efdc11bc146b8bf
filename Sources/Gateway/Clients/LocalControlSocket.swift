internal import Glibc
internal import Notation
internal import Reactor

/// Gives pairing codes to local programs, over a socket in the gateway's folder: so that a gateway whose output goes to
/// a log need not print one there.
///
/// One line of JSON each way. The kernel vouches that the program runs as this user or as root. It belongs to its
/// reactor's thread.
final class LocalControlSocket {
  static let name = "pairing.socket"
  static let lineBytesMax = 1 << 10
  private static let connectionsMax = 8
  /// The time limit for a program's question.
  private static let timeout: Duration = .seconds(5)

  private final class Connection {
    let socket: Descriptor
    var received: [UInt8] = []
    var registration: Registration?
    var deadline: Timer?

    init(_ socket: consuming Descriptor) {
      self.socket = socket
    }
  }

  private let reactor: Reactor
  private let folder: String
  /// Nil if the answer comes later, by `send`.
  private let answer: (JSON, UInt64) throws(Problem) -> JSON?
  private let socket: Descriptor
  private var registration: Registration?
  private var connections: [UInt64: Connection] = [:]
  private var lastConnection: UInt64 = 0

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
    for connection in connections.values { release(connection) }
    if let registration { reactor.deregister(registration) }
    _ = unlink("\(folder)/\(Self.name)")
  }

  private func accept() {
    // Programs beyond the limit try again; a failed accept is reported again in the next turn.
    while connections.count < Self.connectionsMax, let socket = try? socket.acceptLocal() { add(socket) }
    update()
  }

  private func update() {
    guard let registration else { return }
    reactor.update(registration, to: connections.count < Self.connectionsMax ? .readable : [])
  }

  private func add(_ socket: consuming Descriptor) {
    lastConnection += 1
    let number = lastConnection
    let connection = Connection(socket)
    guard
      let registration = try? reactor.register(connection.socket, for: .readable, { [unowned self] _ in read(number) })
    else { return }
    connection.registration = registration
    connection.deadline = reactor.schedule(after: Self.timeout) { [unowned self] in end(number) }
    connections[number] = connection
  }

  private func read(_ number: UInt64) {
    guard let connection = connections[number] else { return }
    var count: Int?
    var room = [UInt8](repeating: 0, count: Self.lineBytesMax)
    do {
      count = try room.withUnsafeMutableBytes { try connection.socket.receive($0) }
    } catch {
      return end(number)
    }
    guard let count else { return }
    connection.received += room.prefix(count)
    guard let line = connection.received.firstIndex(of: UInt8(ascii: "\n")) else {
      if count == 0 || connection.received.count > Self.lineBytesMax { end(number) }
      return
    }
    if let json = reply(to: Array(connection.received[..<line]), of: connection, number) { send(json, to: number) }
  }

  /// Removes the time limit of a program whose answer takes time.
  func cancelDeadline(of number: UInt64) {
    if let deadline = connections[number]?.deadline.take() { reactor.cancel(deadline) }
  }

  func send(_ json: JSON, to number: UInt64) {
    guard let connection = connections[number] else { return }
    // The answer is small, and the socket's buffer is empty.
    _ = try? (json.bytes + [UInt8(ascii: "\n")]).withUnsafeBytes { try connection.socket.send($0) }
    end(number)
  }

  private func reply(to line: [UInt8], of connection: Connection, _ number: UInt64) -> JSON? {
    do throws(Problem) {
      guard let user = try? connection.socket.localUser(), user == geteuid() || user == 0 else {
        throw Problem(.forbidden, "this gateway belongs to another user: run this as that user, or as root")
      }
      guard let question = try? JSON(parsing: line) else { throw Problem(.badRequest, "the request is no JSON") }
      return try answer(question, number)
    } catch {
      return ["problem": error.json]
    }
  }

  private func end(_ number: UInt64) {
    if let connection = connections.removeValue(forKey: number) { release(connection) }
    update()
  }

  private func release(_ connection: Connection) {
    if let registration = connection.registration { reactor.deregister(registration) }
    if let deadline = connection.deadline { reactor.cancel(deadline) }
  }
}
