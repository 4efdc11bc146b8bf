internal import Reactor
internal import Testing

@testable internal import Gateway
@testable internal import Web

@Suite("What is kept to be answered again")
struct IdempotencyTests {
  private var memory = Idempotency()
  private let start = Instant.now

  /// A call without a client if there is none.
  private func call(_ key: String, of client: String?) throws -> Call {
    var headers = Headers()
    headers.append("Host", "here")
    headers.append("Idempotency-Key", key)
    let raw = RawHead(method: "POST", target: "/v1/peers", version: "HTTP/1.1", headers: headers)
    let head = try Head(raw, from: Origin(client: .loopback(port: 1), isSecure: false))
    return Call(head, []).asked(by: client.map { ClientView(id: ClientID(text: $0), name: $0, role: .member) })
  }

  private mutating func ask(_ key: String, of client: String?, _ reply: Reply? = nil, after time: Duration = .zero)
    throws -> Reply?
  {
    let (call, now) = (try call(key, of: client), start + time)
    if let known = try memory.recall(call, at: now) { return known }
    memory.remember(reply ?? Reply(201, .json([])), to: call)
    return nil
  }

  @Test("A client over its share loses its own entries (eviction), by number of keys or by bytes of responses")
  mutating func shares() throws {
    _ = try ask("first", of: "anna")
    for number in 0...Idempotency.answersMax { _ = try ask("\(number)", of: "bert") }
    #expect(try ask("first", of: "anna") != nil)
    #expect(try ask("0", of: "bert") == nil)
    #expect(try ask("\(Idempotency.answersMax)", of: "bert") != nil)
    let large = Reply(201, .json([UInt8](repeating: 0x20, count: Idempotency.bytesMax / 4)))
    for number in 0..<5 { _ = try ask("large \(number)", of: "cora", large) }
    #expect(try ask("first", of: "anna") != nil && ask("large 4", of: "cora") != nil)
    #expect(try ask("large 0", of: "cora") == nil)
  }

  @Test("A refused request takes no space, and a request without a client is not remembered")
  mutating func refused() throws {
    _ = try ask("first", of: "anna")
    for number in 0...Idempotency.answersMax { _ = try ask("\(number)", of: "anna", Reply(400)) }
    #expect(try ask("first", of: "anna") != nil)
    _ = try ask("one", of: nil)
    #expect(try ask("one", of: nil) == nil)
  }

  @Test("A repeated request finds the one in progress, however many are answered meanwhile")
  mutating func underWay() throws {
    let now = start
    #expect(try memory.recall(call("slow", of: "anna"), at: now) == nil)
    for number in 0...Idempotency.answersMax { _ = try ask("\(number)", of: "anna") }
    #expect(throws: Problem.self) { try memory.recall(call("slow", of: "anna"), at: now) }
    #expect(try ask("0", of: "anna") == nil)
  }

  @Test("An answer is known for a day")
  mutating func age() throws {
    _ = try ask("first", of: "anna")
    #expect(try ask("first", of: "anna", after: .seconds(86_399)) != nil)
    #expect(try ask("first", of: "anna", after: .seconds(86_400)) == nil)
  }
}
