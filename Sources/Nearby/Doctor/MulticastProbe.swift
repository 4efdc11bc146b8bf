internal import Glibc
internal import Reactor

/// One socket at the mDNS port, on one interface: by IPv4, and by IPv6 where there is nothing else.
final class MulticastProbe {
  private let interface: CheckedInterface
  private let group: SocketAddress
  private let questions: [[UInt8]]
  /// The socket; nil if nothing can be received.
  private var socket: Descriptor?
  /// Why nothing can be heard or, as yet, nothing was sent.
  private var refusal: String?

  init(_ interface: CheckedInterface) {
    self.interface = interface
    let isV6 = interface.v4.isEmpty
    let host: SocketAddress.Host =
      isV6
      ? .v6([0xff, 2] + [UInt8](repeating: 0, count: 13) + [0xfb], scope: interface.index) : .v4([224, 0, 0, 251])
    group = SocketAddress(host: host, port: MulticastCheck.port)
    questions = isV6 ? [MulticastQuestion.services] : interface.v4.flatMap(MulticastQuestion.packets)
    do { socket = try .multicast(group, on: interface.index) } catch { refused(error) }
  }

  func ask() {
    for question in questions {
      do {
        _ = try question.withUnsafeBytes { try socket?.send($0, to: group) }
        if socket != nil { refusal = nil }
      } catch {
        // A packet filter that drops outgoing packets reports an error.
        refused(error)
      }
    }
  }

  private func refused(_ error: any Error) {
    refusal = (error as? SystemError).map { String(cString: strerror($0.code)) } ?? "\(error)"
  }

  /// The senders of all answers since. Its own query comes back too, and is no answer.
  func heard(_ own: Set<SocketAddress>) -> MulticastCheck.Heard {
    var heard = MulticastCheck.Heard(interface: interface, refusal: refusal)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 9_000, alignment: 16)
    defer { room.deallocate() }
    while let (count, sender) = try? socket?.receive(into: room) {
      // The highest bit of the third byte marks an answer.
      let isAnswer = count > 2 && room[2] & 0x80 != 0
      let host = sender.with(port: 0)
      if !own.contains(host) { heard.others.insert(host) } else if isAnswer { heard.isSelfHeard = true }
    }
    return heard
  }
}
