/// A decoder of a response body in the incoming bytes, with its end (RFC 9112 §6 and §7).
struct BodyDecoder {
  enum Length: Equatable {
    case known(UInt64)
    case chunked
    /// Until the connection ends.
    case open
  }

  struct Fault: Error {
    let description: String
  }

  /// A chunk's size, and its unused extensions.
  private static let lineBytesMax = 1_024
  private static let trailerBytesMax = 8 << 10

  private enum State {
    case data(left: UInt64)
    case chunkSize
    case chunkEnd
    case trailer(bytesLeft: Int)
    case open
    case ended
  }

  private var state: State
  private let isChunked: Bool
  private var line: [UInt8] = []

  init(_ length: Length) {
    isChunked = length == .chunked
    state =
      switch length {
      case .known(0): .ended
      case .known(let count): .data(left: count)
      case .chunked: .chunkSize
      case .open: .open
      }
  }

  var isEnded: Bool { if case .ended = state { true } else { false } }

  /// Whether the body is complete when the connection ends.
  var mayEndHere: Bool {
    switch state {
    case .open, .ended: true
    case .data, .chunkSize, .chunkEnd, .trailer: false
    }
  }

  /// The next bytes of the body, at most so many; none where more has to come first, or the body has ended.
  mutating func taken(from input: inout ArraySlice<UInt8>, max: Int) throws(Fault) -> ArraySlice<UInt8> {
    while !input.isEmpty {
      switch state {
      case .ended:
        return []
      case .open:
        return move(max, from: &input)
      case .data(let left):
        let bytes = move(Int(min(UInt64(max), left)), from: &input)
        let rest = left - UInt64(bytes.count)
        state = rest > 0 ? .data(left: rest) : isChunked ? .chunkEnd : .ended
        return bytes
      case .chunkSize:
        guard let line = try takenLine(from: &input) else { return [] }
        let size = try chunkSize(line)
        state = size > 0 ? .data(left: size) : .trailer(bytesLeft: Self.trailerBytesMax)
      case .chunkEnd:
        guard let line = try takenLine(from: &input) else { return [] }
        guard line.isEmpty else { throw Fault(description: "a chunk is longer than it says") }
        state = .chunkSize
      case .trailer(let bytesLeft):
        guard let line = try takenLine(from: &input) else { return [] }
        if line.count > bytesLeft { throw Fault(description: "it goes on for too long after its last chunk") }
        state = line.isEmpty ? .ended : .trailer(bytesLeft: bytesLeft - line.count - 1)
      }
    }
    return []
  }

  private func move(_ count: Int, from input: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    defer { input = input.dropFirst(count) }
    return input.prefix(count)
  }

  /// A line without its end; nil while it has none.
  private mutating func takenLine(from input: inout ArraySlice<UInt8>) throws(Fault) -> [UInt8]? {
    let end = input.firstIndex(of: UInt8(ascii: "\n"))
    line += input[..<(end ?? input.endIndex)]
    input = input[(end.map { $0 + 1 } ?? input.endIndex)...]
    if line.count > Self.lineBytesMax { throw Fault(description: "a line between its chunks is too long") }
    if end == nil { return nil }
    defer { line = [] }
    return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
  }

  private func chunkSize(_ line: [UInt8]) throws(Fault) -> UInt64 {
    let digits = line.prefix(while: \.isHexadecimal)
    let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
    // 15 digits are past any file, and the sum of two sizes still fits.
    guard (1...15).contains(digits.count), rest.isEmpty || rest.first == UInt8(ascii: ";"),
      let size = UInt64(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw Fault(description: "a chunk's size is not a number") }
    return size
  }
}
