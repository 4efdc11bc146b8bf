internal import BluetoothProtocol
internal import Glibc
internal import Reactor
internal import Wire

/// A connection with a host of a device: a search for its channel, and RFCOMM.
final class HostConnect {
  private static let timeMax: Duration = .seconds(14)

  private let reactor: Reactor
  private let system: any BluetoothSystem
  /// Called once, unless it is cancelled: a connected socket, which closes afterwards, or the error's number.
  private var done: ((CInt?, Int32) -> Void)?
  private var search: HostSearch?
  private var socket: Descriptor?
  private var registration: Registration?
  private var deadline: Timer?

  init(
    to device: BluetoothAddress, of host: HostID, from adapter: BluetoothAddress, by system: any BluetoothSystem,
    on reactor: Reactor, done: @escaping (CInt?, Int32) -> Void
  ) {
    self.reactor = reactor
    self.system = system
    self.done = done
    deadline = reactor.schedule(after: Self.timeMax) { [unowned self] in finish(ETIMEDOUT) }
    search = HostSearch(of: device, from: adapter, by: system, on: reactor) { [unowned self] records in
      guard let records else { return finish(EHOSTDOWN) }
      guard let record = records.first(where: { $0.host == host }) else { return finish(ENOENT) }
      connect(to: device, record.channel, from: adapter)
    }
  }

  deinit { cancel() }

  func cancel() {
    done = nil
    search?.cancel()
    search = nil
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
  }

  private func connect(to device: BluetoothAddress, _ channel: UInt8, from adapter: BluetoothAddress) {
    do throws(SystemError) {
      let socket = try system.connectingRFCOMM(to: device, channel: channel, from: adapter)
      registration = try reactor.register(socket, for: .writable) { [unowned self] _ in
        finish(self.socket?.connectionError()?.code ?? 0)
      }
      self.socket = consume socket
    } catch {
      finish(error.code)
    }
  }

  private func finish(_ code: Int32) {
    guard let done = done.take() else { return }
    let socket = socket.take()
    cancel()
    if code == 0, let socket { done(socket.number, 0) } else { done(nil, code) }
  }
}
