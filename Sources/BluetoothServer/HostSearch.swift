internal import BluetoothProtocol
internal import Reactor

/// A search for the hosts of one device, in its service records.
///
/// The device may answer anything, or nothing: the search has a limit of time, and its answer those of `ServiceSearch`.
final class HostSearch {
  /// Paging takes up to 5.12 s, and the same again for a device that answers slowly.
  static let timeMax: Duration = .seconds(10)

  private let reactor: Reactor
  /// Called once, unless it is cancelled: the records of hosts, or nil where the device does not answer.
  private var done: (([HostRecord]?) -> Void)?
  private var search = ServiceSearch()
  private var socket: Descriptor?
  private var isConnected = false
  private var registration: Registration?
  private var deadline: Timer?

  init(
    of device: BluetoothAddress, from adapter: BluetoothAddress, by system: any BluetoothSystem, on reactor: Reactor,
    within time: Duration = timeMax, done: @escaping ([HostRecord]?) -> Void
  ) {
    self.reactor = reactor
    self.done = done
    deadline = reactor.schedule(after: time) { [self] in finish(nil) }
    do throws(SystemError) {
      let socket = try system.connectingSDP(to: device, from: adapter)
      registration = try reactor.register(socket, for: .writable) { [unowned self] _ in proceed() }
      self.socket = consume socket
    } catch {
      reactor.soon { [self] in finish(nil) }
    }
  }

  deinit { cancel() }

  func cancel() {
    done = nil
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
  }

  private func finish(_ records: [HostRecord]?) {
    let done = done.take()
    cancel()
    done?(records)
  }

  private func proceed() {
    do throws(SystemError) {
      if isConnected { try receive() } else { try connected() }
    } catch {
      finish(nil)
    }
  }

  private func connected() throws(SystemError) {
    if let error = socket?.connectionError() { throw error }
    isConnected = true
    try socket?.sendPacket(search.request)
    if let registration { reactor.update(registration, to: .readable) }
  }

  private func receive() throws(SystemError) {
    guard let packet = try socket?.receivePacket(bytesMax: ServiceSearch.packetBytesMax) else { return }
    switch packet.isWhole ? search.handle(packet.bytes) : .failed {
    case .ask(let next): try socket?.sendPacket(next)
    case .found(let records): finish(records)
    case .failed: finish(nil)
    }
  }
}
