internal import Foundation
internal import Glibc

/// A connection to a gateway as a client has it, whose calls wait, each no longer than `patience`.
///
/// It is used by one at a time: each call is awaited before the next, which is the proof of `@unchecked`.
final class Line: @unchecked Sendable {
  struct Broken: Error {
    let what: String
  }

  /// The timeout of an operation, in seconds. A long poll is answered after a minute at the latest.
  static let patience = 90
  private let socket: CInt
  private var tls: Security?
  private var inbox: [UInt8] = []

  /// Connects to loopback or the given address; with TLS if an authority is given, for that name or address.
  init(to port: UInt16, at host: String = "127.0.0.1", trusting authority: [UInt8]? = nil, as name: String? = nil)
    throws
  {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: Self.patience, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 { throw Broken(what: "nobody listens at \(port)") }
    if let authority { tls = try Security(socket, trusting: authority, as: name ?? host) }
  }

  deinit { close(socket) }

  /// The other side sees that there is nobody any more.
  func hangUp() { shutdown(socket, Int32(SHUT_RDWR)) }

  func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      // There is one byte left at least, so the buffer has an address.
      let count = bytes.withUnsafeBytes {
        if let tls { return tls.write(UnsafeRawBufferPointer(rebasing: $0[done...])) }
        return send(socket, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      if count <= 0, errno == EAGAIN { throw Broken(what: "nothing was taken within \(Self.patience) seconds") }
      // The response to a request that was refused early can still be read.
      if count <= 0 { return }
      done += count
    }
  }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  /// Reads this number of bytes; nil at the end of the connection.
  func read(_ count: Int) throws -> [UInt8]? {
    while inbox.count < count {
      if try !fill() { return nil }
    }
    defer { inbox.removeFirst(count) }
    return Array(inbox.prefix(count))
  }

  func readLine() throws -> String? {
    while true {
      if let end = inbox.firstIndex(of: UInt8(ascii: "\n")) {
        defer { inbox.removeFirst(end + 1) }
        return String(decoding: inbox[..<end].filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
      }
      if try !fill() { return nil }
    }
  }

  func readToEnd() throws -> [UInt8] {
    while try fill() {}
    defer { inbox = [] }
    return inbox
  }

  private func fill() throws -> Bool {
    var room = [UInt8](repeating: 0, count: 64 << 10)
    let count = tls?.read(&room) ?? recv(socket, &room, room.count, 0)
    if count < 0, errno == ECONNRESET { return false }
    if count < 0 { throw Broken(what: "nothing came within \(Self.patience) seconds") }
    inbox += room.prefix(count)
    return count > 0
  }

  // MARK: HTTP

  func readHead() throws -> Answer {
    guard let first = try readLine(), let status = first.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
    else { throw Broken(what: "the connection ended where an answer should begin") }
    var headers: [Answer.Header] = []
    while let line = try readLine(), !line.isEmpty {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers.append(.init(name: String(parts[0]), value: parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""))
    }
    return Answer(status: status, headers: headers)
  }

  func readAnswer(to method: String) throws -> Answer {
    var answer = try readHead()
    if method == "HEAD" || answer.status == 204 || answer.status == 304 { return answer }
    if answer["Transfer-Encoding"] == "chunked" {
      while let chunk = try readChunk() { answer.body += chunk }
    } else if let length = answer["Content-Length"].flatMap({ Int($0) }) {
      answer.body = try read(length) ?? []
    } else {
      answer.body = try readToEnd()
    }
    return answer
  }

  /// Nil at the end of the body.
  func readChunk() throws -> [UInt8]? {
    guard let size = try readLine().flatMap({ Int($0, radix: 16) }) else { return nil }
    let chunk = try read(size)
    _ = try readLine()
    return size == 0 ? nil : chunk
  }
}

/// Runs blocking work on a thread of its own: the tests' tasks share few threads.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
  }
}
