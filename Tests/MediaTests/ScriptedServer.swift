import Glibc
import Media
import Reactor

/// A web server that sends a test's script, on the test's loop.
final class ScriptedServer {
  /// An action on a connection once its request is there.
  enum Act {
    case say(String)
    case sayBytes([UInt8])
    /// Sends it one byte in each turn.
    case drip(String)
    /// Sends it again and again, at such intervals.
    case waitAndSay(Duration, String)
    /// Sends it again and again, for as long as somebody reads.
    case repeating(String)
    case hangUp
    /// The connection is reset, as if the cable were cut.
    case reset
  }

  private let reactor: Reactor
  private let script: (String) -> [Act]
  private var listener: Listener?
  private var guests: [Guest] = []
  private(set) var requests: [String] = []
  /// How many bytes the sockets have taken.
  fileprivate(set) var sent = 0

  init(on reactor: Reactor, _ script: @escaping (String) -> [Act]) throws {
    self.reactor = reactor
    self.script = script
    listener = try Listener(at: .loopback(port: 0), on: reactor) { [unowned self] socket in
      guests.append(Guest(socket, on: reactor, of: self))
    }
  }

  convenience init(on reactor: Reactor, saying answer: String) throws {
    try self.init(on: reactor) { _ in [.say(answer), .hangUp] }
  }

  var port: UInt16 { listener?.address.port ?? 0 }
  var url: String { "http://127.0.0.1:\(port)" }

  /// The path of each request.
  var paths: [Substring] { requests.map { $0.split(separator: " ")[1] } }

  fileprivate func acts(on request: String) -> [Act] {
    requests.append(request)
    return script(request)
  }
}

private final class Guest {
  private let reactor: Reactor
  private unowned let server: ScriptedServer
  private var socket: Descriptor?
  private var registration: Registration?
  private var request: [UInt8] = []
  private var acts: [ScriptedServer.Act]?
  private var unsent: [UInt8] = []

  init(_ socket: consuming Descriptor, on reactor: Reactor, of server: ScriptedServer) {
    self.reactor = reactor
    self.server = server
    registration = try? reactor.register(socket, for: .readable) { [unowned self] _ in turn() }
    self.socket = consume socket
  }

  private func turn() {
    guard let number = socket?.number else { return }
    if acts == nil { listen(number) }
    while acts != nil, socket != nil {
      if unsent.isEmpty, !nextAct(number) { return }
      let count = unsent.withUnsafeBytes { send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      if count == -1, errno != EAGAIN { return close() }
      if count == -1 { return }
      server.sent += count
      unsent.removeFirst(count)
    }
  }

  private func listen(_ number: CInt) {
    var room = [UInt8](repeating: 0, count: 4_096)
    let count = recv(number, &room, room.count, 0)
    if count == 0 || count == -1 && errno != EAGAIN { return close() }
    request += room.prefix(max(count, 0))
    let text = String(decoding: request, as: UTF8.self)
    guard text.hasSuffix("\r\n\r\n") else { return }
    acts = server.acts(on: text)
    // The registration then reports each turn in which something can be sent.
    if let registration { reactor.update(registration, to: .writable) }
  }

  /// False where there is nothing more to do in this turn.
  private func nextAct(_ number: CInt) -> Bool {
    guard let act = acts?.first else {
      if let registration { reactor.update(registration, to: []) }
      return false
    }
    acts?.removeFirst()
    switch act {
    case .say(let text):
      unsent = Array(text.utf8)
    case .sayBytes(let bytes):
      unsent = bytes
    case .drip(let text):
      unsent = Array(text.utf8.prefix(1))
      if text.utf8.count > 1 { acts?.insert(.drip(String(text.unicodeScalars.dropFirst().map(Character.init))), at: 0) }
      let count = send(number, unsent, unsent.count, CInt(MSG_NOSIGNAL))
      if count == -1, errno != EAGAIN { close() }
      unsent = []
      return false
    case .repeating(let text):
      unsent = Array(text.utf8)
      acts?.insert(act, at: 0)
    case .waitAndSay(let interval, let text):
      rest(for: interval) { [self] in
        acts?.insert(contentsOf: [.say(text), act], at: 0)
        turn()
      }
      return false
    case .hangUp:
      close()
      return false
    case .reset:
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
      close()
      return false
    }
    return true
  }

  private func rest(for interval: Duration, then action: @escaping () -> Void) {
    if let registration { reactor.update(registration, to: []) }
    reactor.schedule(after: interval) { [weak self] in
      guard let self, let registration else { return }
      self.reactor.update(registration, to: .writable)
      action()
    }
  }

  private func close() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
  }
}
