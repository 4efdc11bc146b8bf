import Glibc
import Reactor
import Testing

/// A client's socket that waits, for ten seconds at most.
class Client {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let socket: Descriptor
  private var left: [UInt8] = []

  init(_ port: UInt16, receiveBuffer: CInt? = nil) throws {
    socket = Descriptor(owning: Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    if var size = receiveBuffer {
      setsockopt(socket.number, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Failure(description: "cannot connect: errno \(errno)") }
    limit(SO_RCVTIMEO, to: 10_000)
    limitSending(toMilliseconds: 10_000)
    var on: CInt = 1
    setsockopt(socket.number, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
  }

  func limitSending(toMilliseconds time: Int) { limit(SO_SNDTIMEO, to: time) }

  private func limit(_ option: CInt, to milliseconds: Int) {
    // A `timeval`: seconds and microseconds.
    var time = (milliseconds / 1_000, milliseconds % 1_000 * 1_000)
    setsockopt(socket.number, SOL_SOCKET, option, &time, socklen_t(MemoryLayout.size(ofValue: time)))
  }

  var number: CInt { socket.number }

  final func send(_ text: String) throws { try send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket.number, $0.baseAddress.unsafelyUnwrapped + sent, bytes.count - sent, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(description: "cannot send: errno \(errno)") }
      sent += count
    }
  }

  func endSending() { socket.endSending() }

  /// The socket's error, such as `ECONNRESET`; 0 for none.
  var error: CInt {
    var (error, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
    getsockopt(socket.number, SOL_SOCKET, SO_ERROR, &error, &size)
    return error
  }

  /// More bytes; none at the end.
  final func receive(_ countMax: Int = 1 << 16) throws -> [UInt8] {
    if left.isEmpty { return try read(countMax) }
    defer { left = [] }
    return left
  }

  func read(_ countMax: Int) throws -> [UInt8] {
    var room = [UInt8](repeating: 0, count: countMax)
    let count = recv(socket.number, &room, room.count, 0)
    if count < 0, errno == ECONNRESET { return [] }
    guard count >= 0 else { throw Failure(description: "nothing comes: errno \(errno)") }
    return Array(room.prefix(count))
  }

  func pushBack(_ bytes: [UInt8]) { left = bytes + left }

  func receiveExactly(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try receive()
      guard !more.isEmpty else { throw Failure(description: "it ends after \(bytes.count) bytes of \(count)") }
      bytes += more
    }
    pushBack(Array(bytes[count...]))
    return Array(bytes[..<count])
  }

  func receiveLine() throws -> String {
    var bytes: [UInt8] = []
    while true {
      if let feed = bytes.firstIndex(of: 10) {
        left = Array(bytes[(feed + 1)...])
        return String(decoding: bytes[..<feed].filter { $0 != 13 }, as: UTF8.self)
      }
      let more = try receive()
      guard !more.isEmpty else { throw Failure(description: "it ends within a line") }
      bytes += more
    }
  }

  /// Whether the server has closed and nothing is left.
  func isAtEnd() throws -> Bool { try receive().isEmpty }

  /// One response; to a HEAD request, its head alone.
  func answer(isHead: Bool = false) throws -> Answer {
    var answer = Answer()
    answer.firstLine = try receiveLine()
    while true {
      let line = try receiveLine()
      if line.isEmpty { break }
      let parts = line.split(separator: ":", maxSplits: 1)
      answer.fields.append((String(parts[0]).lowercased(), String(parts[1].drop { $0 == " " })))
    }
    if isHead || [100, 101, 204, 304].contains(answer.status) { return answer }
    if let length = answer["content-length"].flatMap(Int.init) {
      answer.body = try receiveExactly(length)
    } else if answer["transfer-encoding"] == "chunked" {
      while case let size = Int(try receiveLine(), radix: 16) ?? 0, size > 0 {
        answer.body += try receiveExactly(size)
        _ = try receiveLine()
      }
      _ = try receiveLine()
      answer.isChunked = true
    } else {
      while case let more = try receive(), !more.isEmpty { answer.body += more }
    }
    return answer
  }
}

struct Answer {
  var firstLine = ""
  var fields: [(name: String, value: String)] = []
  var body: [UInt8] = []
  var isChunked = false

  var status: Int { Int(firstLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
  var text: String { String(decoding: body, as: UTF8.self) }

  subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}
