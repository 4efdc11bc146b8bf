import Glibc
import Media
import Reactor

/// A tap between a dialling side and a host: it passes bytes on, records them, and may do anything with them.
final class Tap {
  private let reactor: Reactor
  private let target: SocketAddress
  private var listener: Listener?
  private var lines: [(near: Line, far: Line)] = []
  /// The treatment of bytes each way; nil cuts all connections.
  var forth: ([UInt8]) -> [UInt8]? = { $0 }
  var back: ([UInt8]) -> [UInt8]? = { $0 }
  /// All bytes each way, over the connections one after another.
  private(set) var saidForth: [UInt8] = []
  private(set) var saidBack: [UInt8] = []

  init(to target: SocketAddress, on reactor: Reactor) throws {
    self.reactor = reactor
    self.target = target
    listener = try Listener(at: .loopback(port: 0), on: reactor) { [unowned self] in splice($0) }
  }

  var address: SocketAddress { listener?.address ?? target }

  /// Ends all connections without a close notification.
  func cut() {
    for line in lines {
      line.near.close()
      line.far.close()
    }
    lines = []
  }

  private func splice(_ socket: consuming Descriptor) {
    do {
      let near = try Line(socket, on: reactor)
      let far = try Line(.connecting(to: target), on: reactor)
      near.came = { [unowned self] in
        saidForth += $0
        pass($0, by: forth, to: far)
      }
      far.came = { [unowned self] in
        saidBack += $0
        pass($0, by: back, to: near)
      }
      lines.append((near, far))
    } catch {
      // The target is gone, and so is the connection.
    }
  }

  private func pass(_ bytes: [UInt8], by change: ([UInt8]) -> [UInt8]?, to other: Line) {
    if bytes.isEmpty { return other.close() }
    guard let changed = change(bytes) else { return cut() }
    other.send(changed)
  }
}

/// A plain connection of the loop that passes received bytes on, and queues those that cannot go yet.
final class Line {
  private let reactor: Reactor
  private var socket: Descriptor?
  private var registration: Registration?
  private var waiting: [UInt8] = []
  /// No bytes are the end.
  var came: ([UInt8]) -> Void = { _ in }

  init(_ socket: consuming Descriptor, on reactor: Reactor) throws {
    self.reactor = reactor
    registration = try reactor.register(socket, for: .readable) { [self] readiness in
      if readiness != .writable { read() }
      flush()
    }
    self.socket = consume socket
  }

  var isOpen: Bool { socket != nil }

  func send(_ bytes: [UInt8]) {
    waiting += bytes
    flush()
  }

  func close() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
    // It may hold its holder.
    came = { _ in }
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
    let came = came
    if bytes.isEmpty { close() }
    came(bytes)
  }

  private func flush() {
    guard let number = socket?.number, let registration else { return }
    while !waiting.isEmpty {
      let count = waiting.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      // A read reports a connection that is gone.
      if count <= 0 { break }
      waiting.removeFirst(count)
    }
    reactor.update(registration, to: waiting.isEmpty ? .readable : [.readable, .writable])
  }
}
