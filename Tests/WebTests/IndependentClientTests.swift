import CWebSockets
import Testing
import Web

/// A client that others have written, libwebsockets, understands this server, and is understood.
@Suite(.serialized) struct IndependentClientTests {
  private let rig: WebRig

  init() throws { rig = try WebRig() }

  @Test func `texts, bytes and parts of messages come back, and a close is answered`() throws {
    let texts = ["", "a", "κόσμε 😀", String(repeating: "*", count: 125), String(repeating: "é", count: 40_000)]
    var messages = texts.map { IndependentClient.Message(kind: .text, parts: [Array($0.utf8)]) }
    for count in [0, 1, 126, 65_535, 65_536, 300_000] {
      messages.append(.init(kind: .binary, parts: [(0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }]))
    }
    messages.append(.init(kind: .text, parts: [[0xce], [], [0xba, 65], Array("end".utf8)]))
    messages.append(.init(kind: .binary, parts: (0..<200).map { [UInt8](repeating: UInt8($0), count: $0 * 7) }))
    let client = try IndependentClient(rig.port, "/ws/echo", messages)
    client.run()
    #expect(
      client.received == messages.map { IndependentClient.Message(kind: $0.kind, parts: [$0.parts.flatMap { $0 }]) })
    #expect(try rig.eventually { $0.sockets.last?.codes == [1000] })
  }

  @Test func `a close from here is understood, and answered`() throws {
    let client = try IndependentClient(rig.port, "/ws/bye", [])
    client.run()
    #expect(client.received == [.init(kind: .text, parts: [Array("first".utf8)])])
    #expect(client.closeCode == 4_001)
    #expect(try rig.eventually { $0.sockets.last?.codes == [4_001] })
  }
}

private final class IndependentClient {
  struct Message: Equatable {
    let kind: MessageKind
    var parts: [[UInt8]]
  }

  private let context: OpaquePointer
  private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
  private var unsent: [Message]
  private let count: Int
  private var isOver = false
  /// Whether the next part continues a message.
  private var isContinuing = false
  private var current: [UInt8] = []
  fileprivate(set) var received: [Message] = []
  fileprivate(set) var closeCode: UInt16?

  init(_ port: UInt16, _ path: String, _ messages: [Message]) throws {
    (unsent, count) = (messages, messages.count)
    // The strings would not outlive `#require` if this call stood in it.
    let context = CWebSockets_context(protocols, independentEvent)
    self.context = try #require(context)
    let me = Unmanaged.passUnretained(self).toOpaque()
    let connection = CWebSockets_connect(context, "127.0.0.1", CInt(port), path, me)
    try #require(connection != nil)
  }

  deinit {
    lws_context_destroy(context)
    protocols.deallocate()
  }

  /// Sends all messages, and closes once all have come back; each turn waits for an event of the library's.
  func run() {
    for _ in 0..<100_000 where !isOver { lws_service(context, 0) }
  }

  /// Sends the next part.
  func send(over library: OpaquePointer) -> CInt {
    guard let message = unsent.first else { return 0 }
    let isLast = message.parts.count == 1
    let begins = message.kind == .text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY
    let start = isContinuing ? LWS_WRITE_CONTINUATION : begins
    var flags = CInt(start.rawValue)
    if !isLast { flags |= CInt(LWS_WRITE_NO_FIN.rawValue) }
    let prefix = CWebSockets_prefix
    var frame = [UInt8](repeating: 0, count: prefix) + message.parts[0]
    let written = frame.withUnsafeMutableBytes { bytes in
      lws_write(
        library, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: prefix), message.parts[0].count,
        lws_write_protocol(UInt32(flags)))
    }
    isContinuing = !isLast
    if isLast { unsent.removeFirst() } else { unsent[0].parts.removeFirst() }
    if !unsent.isEmpty { lws_callback_on_writable(library) }
    return written < 0 ? -1 : 0
  }

  func receive(_ bytes: UnsafeRawBufferPointer, over library: OpaquePointer) -> CInt {
    current += bytes
    guard lws_is_final_fragment(library) == 1 else { return 0 }
    received.append(Message(kind: lws_frame_is_binary(library) == 1 ? .binary : .text, parts: [current]))
    current = []
    guard received.count == count else { return 0 }
    lws_close_reason(library, LWS_CLOSE_STATUS_NORMAL, nil, 0)
    return -1
  }

  func end() { isOver = true }
}

private func independentEvent(
  _ library: OpaquePointer?, _ reason: lws_callback_reasons, _: UnsafeMutableRawPointer?,
  _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
  guard let library, let context = lws_get_opaque_user_data(library) else { return 0 }
  let client = Unmanaged<IndependentClient>.fromOpaque(context).takeUnretainedValue()
  let payload = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
  switch reason {
  case LWS_CALLBACK_CLIENT_ESTABLISHED:
    lws_callback_on_writable(library)
  case LWS_CALLBACK_CLIENT_WRITEABLE:
    return client.send(over: library)
  case LWS_CALLBACK_CLIENT_RECEIVE:
    return client.receive(payload, over: library)
  case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    client.closeCode = payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
  case LWS_CALLBACK_CLIENT_CLOSED, LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    client.end()
  default:
    break
  }
  return 0
}
