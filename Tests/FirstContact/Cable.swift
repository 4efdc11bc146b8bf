import Media
import Reactor

/// A cable between two hosts: it passes on bytes that it does not understand, and can be cut.
final class Cable {
  private let reactor: Reactor
  private let target: SocketAddress
  private var listener: Listener?
  private var strands: [(near: Plug, far: Plug)] = []
  private var bytesLeft = Int.max
  private(set) var cuts = 0

  init(to target: SocketAddress, on reactor: Reactor) throws {
    self.reactor = reactor
    self.target = target
    listener = try Listener(at: .loopback(port: 0), on: reactor) { [weak self] in self?.splice($0) }
  }

  var address: SocketAddress { listener?.address ?? target }

  /// Cuts whatever connections there are once so many more bytes have gone to the target; later ones are left alone.
  func cut(after bytes: Int) { bytesLeft = bytes }

  func close() {
    listener = nil
    cut()
  }

  private func splice(_ near: consuming Descriptor) {
    do {
      // Each knows the other once both are there, which is before anything comes.
      nonisolated(unsafe) var ends: (near: Plug?, far: Plug?) = (nil, nil)
      let nearPlug = try Plug(near, on: reactor) { [weak self] in self?.pass($0, to: ends.far, isForth: true) }
      let farPlug = try Plug(.connecting(to: target), on: reactor) { [weak self] in
        self?.pass($0, to: ends.near, isForth: false)
      }
      ends = (nearPlug, farPlug)
      strands.append((nearPlug, farPlug))
    } catch {
      // The target is gone, and so is the connection.
    }
  }

  private func pass(_ bytes: [UInt8], to other: Plug?, isForth: Bool) {
    if bytes.isEmpty {
      other?.close()
      return
    }
    guard isForth else {
      other?.send(bytes)
      return
    }
    other?.send(Array(bytes.prefix(bytesLeft)))
    if bytes.count >= bytesLeft { return cut() }
    if bytesLeft != .max { bytesLeft -= bytes.count }
  }

  private func cut() {
    for strand in strands {
      strand.near.close()
      strand.far.close()
    }
    if !strands.isEmpty { cuts += 1 }
    strands = []
    bytesLeft = .max
  }
}
