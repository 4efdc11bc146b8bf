public import BluetoothProtocol
public import Reactor

/// The connection with the host. It ends where the host closes it, does not read, or says what is no command.
public final class HostConnection: @unchecked Sendable {
  // `@unchecked`: it is touched on its reactor's thread alone, which is the main one.

  private static let packetsPerTurnMax = 16

  private let socket: Descriptor
  private let ended: () -> Void
  public var handle: ((BluetoothCommand) -> Void)?

  public init(
    _ socket: consuming Descriptor, on reactor: Reactor, ended: @escaping () -> Void
  ) throws(SystemError) {
    self.socket = socket
    self.ended = ended
    _ = try reactor.register(self.socket, for: .readable) { [unowned self] _ in receive() }
  }

  public func send(_ report: BluetoothReport, passing descriptor: CInt? = nil) {
    do throws(SystemError) { try socket.sendPacket(report.bytes, passing: descriptor) } catch { ended() }
  }

  private func receive() {
    for _ in 0..<Self.packetsPerTurnMax {
      do throws(SystemError) {
        guard let packet = try socket.receivePacket(bytesMax: BluetoothCommand.bytesMax) else { return }
        guard packet.isWhole, let command = BluetoothCommand(packet.bytes) else { return ended() }
        handle?(command)
      } catch {
        return ended()
      }
    }
  }
}
