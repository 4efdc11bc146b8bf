import FoundationEssentials

@testable import lab_rig

/// A client's WebSocket at the gateway of its own host, which speaks `vicinity.v1`.
@Laboratory
struct GateSocket {
  private let program: Program

  init(_ host: LabHost, token: String) async throws {
    program = try host.start("python3", "-c", Self.client)
    try await ask(["id": "connect", "connect": ["token": .text(token)]])
  }

  /// The answer to a frame, which has an ID of its own.
  @discardableResult
  func ask(_ frame: JSON) async throws -> JSON {
    try say(frame)
    return try await answer(to: frame["id"])
  }

  /// Frames that are said at once need no answer each before the next.
  func say(_ frame: JSON) throws { try program.say(try frame.written()) }

  func answer(to id: JSON?) async throws -> JSON {
    try JSON(
      try await program.line("the answer to \(id.map { "\($0)" } ?? "")", within: .seconds(10)) {
        (try? JSON($0))?["id"] == id
      })
  }

  /// The answer to a request other than a subscription.
  func request(_ id: JSON, _ method: JSON, _ path: String, _ body: JSON = [:]) async throws -> JSON {
    try await ask(["id": id, "request": ["method": method, "path": .text(path), "body": body]])
  }

  func subscribe(_ channel: String) async throws {
    let answer = try await ask(["id": .text(channel), "subscribe": ["channel": .text(channel)]])
    if answer["ok"] == nil { throw LabError("\(channel) is not followed: \(answer)") }
  }

  /// All items that were received as changes, on any channel.
  var puts: [JSON] {
    program.lines.filter { $0.kind == .output }.compactMap { try? JSON($0.text)["put"] }
  }

  /// Sends each line of its input as a text message, and writes each that comes as a line.
  private static let client = #"""
    import base64, os, socket, struct, sys, threading
    connection = socket.create_connection(('127.0.0.1', 7777))
    connection.sendall(
        b'GET /v1/socket HTTP/1.1\r\nHost: 127.0.0.1:7777\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
        b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: vicinity.v1\r\n'
        b'Sec-WebSocket-Key: ' + base64.b64encode(os.urandom(16)) + b'\r\n\r\n')
    reader = connection.makefile('rb')
    if b' 101 ' not in reader.readline():
        sys.exit('the WebSocket was refused')
    while reader.readline().strip():
        pass
    def send(kind, data):
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b'\xfe' + struct.pack('>H', len(data))
        connection.sendall(bytes([0x80 | kind]) + size + bytes(4) + data)
    def speak():
        for line in sys.stdin.buffer:
            send(1, line.strip())
    threading.Thread(target=speak, daemon=True).start()
    text, close, ping, pong = 1, 8, 9, 10
    while (head := reader.read(2)) and head[0] & 15 != close:
        size = head[1]
        if size == 126:
            size, = struct.unpack('>H', reader.read(2))
        elif size == 127:
            size, = struct.unpack('>Q', reader.read(8))
        data = reader.read(size)
        if head[0] & 15 == ping:
            send(pong, data)
        elif head[0] & 15 == text:
            sys.stdout.buffer.write(data + b'\n')
            sys.stdout.buffer.flush()
    """#
}
