internal import BluetoothProtocol
internal import BluetoothServer
internal import CBluetooth
internal import Glibc
internal import Reactor

/// A thread for calls that wait for the kernel or for bluetoothd, one after another: inquiries of an adapter, or the registration of
/// a record at bluetoothd's own socket.
final class WaitingThread: @unchecked Sendable {
  // `@unchecked`: `local` is touched in blocks that its own loop runs, and so on this thread alone; `inquiring` in calls of the owner
  // and in blocks that the owner's loop runs; `reactor` and `owner` are never set again, and may be posted to from anywhere.

  private static let devicesMax: CInt = 64

  private let reactor: Reactor
  private let owner: Reactor
  private var local: UnsafeMutablePointer<sdp_session_t>?
  /// This thread, while it waits for an inquiry.
  private var inquiring: pthread_t?

  /// Reports on the owner's loop.
  init(reportingOn owner: Reactor) throws(SystemError) {
    self.owner = owner
    Self.letSignalsInterrupt()
    reactor = try Reactor()
    reactor.start()
  }

  /// Nil where it could not.
  func inquire(on adapter: CInt, units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void) {
    reactor.post { [self, owner] in
      let thread = pthread_self()
      owner.post { [self] in inquiring = thread }
      let found = Self.inquire(on: adapter, CInt(units))
      owner.post { [self] in
        inquiring = nil
        done(found)
      }
    }
  }

  /// Ends the inquiry with an error: the kernel waits for its end or for a signal.
  func interrupt() { if let inquiring { pthread_kill(inquiring, SIGUSR1) } }

  /// The handler does nothing, and no call is begun again after it.
  private static func letSignalsInterrupt() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in }
    sigaction(SIGUSR1, &action, nil)
  }

  private static func inquire(on adapter: CInt, _ units: CInt) -> [InquiredDevice]? {
    var list: UnsafeMutablePointer<inquiry_info>?
    let count = hci_inquiry(adapter, units, devicesMax, nil, &list, CLong(IREQ_CACHE_FLUSH))
    defer { free(list) }
    guard count >= 0, let list else { return nil }
    return UnsafeBufferPointer(start: list, count: Int(count)).map { info in
      let (low, middle, high) = (UInt32(info.dev_class.0), UInt32(info.dev_class.1), UInt32(info.dev_class.2))
      return InquiredDevice(BluetoothAddress(info.bdaddr), deviceClass: low | middle << 8 | high << 16)
    }
  }

  /// Registers the record for as long as this lives, at the socket that bluetoothd has with `--compat`.
  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void) {
    reactor.post { [self, owner] in
      let succeeded = registerHere(record)
      owner.post { done(succeeded) }
    }
  }

  private func registerHere(_ host: HostRecord) -> Bool {
    if let local { sdp_close(local) }
    var any = bdaddr_t()
    var here = BluetoothAddress(0xFFFF_FF00_0000).bdaddr
    local = sdp_connect(&any, &here, UInt32(SDP_RETRY_IF_BUSY))
    guard let local, let record = sdp_record_alloc() else { return false }
    host.fill(record)
    // The session's end takes the record with it.
    return sdp_record_register(local, record, 0) == 0
  }
}
