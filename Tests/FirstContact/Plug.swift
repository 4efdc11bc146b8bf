import Glibc
import Reactor

/// A socket of the loop that hands over what comes, and keeps what cannot go yet.
final class Plug {
  private let reactor: Reactor
  private var socket: Descriptor?
  private var registration: Registration?
  private var outgoing: ArraySlice<UInt8> = []
  /// Nothing is the end.
  private let came: ([UInt8]) -> Void

  init(_ socket: consuming Descriptor, on reactor: Reactor, came: @escaping ([UInt8]) -> Void) throws {
    self.reactor = reactor
    self.came = came
    registration = try reactor.register(socket, for: .readable) { [self] _ in
      read()
      flush()
    }
    self.socket = consume socket
  }

  func send(_ bytes: [UInt8]) {
    outgoing += bytes
    flush()
  }

  func close() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
  }

  private func read() {
    guard let number = socket?.number else { return }
    let room = 64 << 10
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      result = recv(number, buffer.baseAddress, room, CInt(MSG_DONTWAIT))
      count = max(0, result)
    }
    if result == -1, errno == EAGAIN { return }
    if bytes.isEmpty { close() }
    came(bytes)
  }

  private func flush() {
    guard let number = socket?.number, let registration else { return }
    while !outgoing.isEmpty {
      let flags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
      let count = outgoing.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, flags) }
      // A read reports a connection that is gone.
      if count <= 0 { break }
      outgoing = outgoing.dropFirst(count)
    }
    reactor.update(registration, to: outgoing.isEmpty ? .readable : [.readable, .writable])
  }
}
