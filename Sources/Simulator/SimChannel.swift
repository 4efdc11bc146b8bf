import Engine
import Wire

/// One end of a link over a circuit: a stand-in for TLS, so that bytes that a relay changes, omits, repeats or reorders
/// are noticed.
///
/// Each record has its length, a tag of its bytes and of the number of records before it, and its bytes. The first record
/// of each side shows its key; the tags of all further ones are made with a secret of both keys and both nonces, which the
/// relay does not compute.
struct SimChannel {
  enum Piece {
    case hello(link: Int, key: PublicKey)
    /// The other side has proved its key.
    case proved
    case bytes([UInt8])
  }

  let isDialed: Bool
  let dial: DialID?
  /// Relays to try next, and the host to reach.
  let target: HostID
  let relays: [HostID]
  /// Known from the start on the side that dials.
  var link: Int?
  private let crypto: ToyCrypto
  private let key: PublicKey
  private let nonce: UInt64
  private var secret: [UInt8] = []
  private var sent: UInt64 = 0
  private var received: UInt64 = 0
  private var rest: [UInt8] = []
  /// Sealed bytes that the circuit had no room for.
  var outbound: [UInt8] = []
  /// Ends once these are out.
  var isClosing = false

  init(
    isDialed: Bool, dial: DialID?, to target: HostID, relays: [HostID], link: Int?, of host: SimHost,
    nonce: UInt64
  ) {
    self.isDialed = isDialed
    self.dial = dial
    self.target = target
    self.relays = relays
    self.link = link
    self.nonce = nonce
    crypto = host.crypto
    key = host.key
  }

  var exporter: Digest { crypto.hash(secret) }

  mutating func sayHello(link: Int) {
    var sink = ArraySink()
    sink.put(u64: UInt64(link))
    sink.put(u64: nonce)
    key.encode(into: &sink)
    seal(sink.bytes, with: [])
  }

  mutating func seal(_ bytes: [UInt8]) { seal(bytes, with: secret) }

  private mutating func seal(_ bytes: [UInt8], with secret: [UInt8]) {
    var sink = ArraySink()
    sink.put(u64: UInt64(bytes.count))
    outbound += sink.bytes + tag(of: bytes, isDialed, sent, secret) + bytes
    sent += 1
  }

  private func tag(of bytes: [UInt8], _ isDialed: Bool, _ number: UInt64, _ secret: [UInt8]) -> [UInt8] {
    var sink = ArraySink([isDialed ? 1 : 0])
    sink.put(u64: number)
    return Array(crypto.hash(secret + sink.bytes + bytes).bytes.prefix(8))
  }

  mutating func add(_ bytes: [UInt8]) { rest += bytes }

  /// The next whole record; nil where more bytes are needed. Throws where it was not sealed by the other side.
  mutating func next() throws(WireError) -> Piece? {
    guard rest.count >= 16 else { return nil }
    let head = rest[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard head <= 1 << 20 else { throw WireError(.truncated) }
    let end = 16 + Int(head)
    guard rest.count >= end else { return nil }
    let body = Array(rest[16..<end])
    guard Array(rest[8..<16]) == tag(of: body, !isDialed, received, received == 0 ? [] : secret) else {
      throw WireError(.truncated)
    }
    rest.removeFirst(end)
    received += 1
    if received > 1 { return body.isEmpty ? .proved : .bytes(body) }
    var reader = Reader(body.span.bytes)
    let (link, theirs) = (try reader.u64(), try reader.u64())
    let other = try PublicKey(from: &reader)
    let nonces = isDialed ? [nonce, theirs] : [theirs, nonce]
    var sink = ArraySink(Array("only the two ends make this".utf8))
    for nonce in nonces { sink.put(u64: nonce) }
    for key in isDialed ? [key, other] : [other, key] { key.encode(into: &sink) }
    secret = crypto.hash(sink.bytes).bytes
    return .hello(link: Int(truncatingIfNeeded: link), key: other)
  }
}
