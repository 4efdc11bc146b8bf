internal import BluetoothProtocol
internal import CBluetooth
internal import Glibc
internal import Reactor
internal import Wire

/// A search for the hosts of one device, in its service records (SDP).
///
/// The device may answer anything: its answer has limits of time and of packets, each of which is as long as L2CAP allows it
/// by default.
final class HostSearch {
  private static let timeMax: Duration = .seconds(10)
  /// The limit of packets, which have 672 bytes at most.
  private static let packetsMax = 48

  private let reactor: Reactor
  /// Called once, unless it is cancelled: the records of hosts, or nil where the device does not answer.
  private var done: (([HostRecord]?) -> Void)?
  private var socket: Descriptor?
  private var session: UnsafeMutablePointer<sdp_session_t>?
  private var registration: Registration?
  private var deadline: Timer?
  private var packets = 0
  fileprivate var records: [HostRecord]?
  fileprivate var isAnswered = false

  init(
    of device: BluetoothAddress, from adapter: BluetoothAddress, on reactor: Reactor,
    done: @escaping ([HostRecord]?) -> Void
  ) {
    self.reactor = reactor
    self.done = done
    deadline = reactor.schedule(after: Self.timeMax) { [self] in finish() }
    do throws(SystemError) {
      let socket = try Descriptor.connectingSDP(to: device, from: adapter)
      registration = try reactor.register(socket, for: .writable) { [unowned self] _ in connected() }
      self.socket = consume socket
    } catch {
      reactor.soon { [self] in finish() }
    }
  }

  deinit { cancel() }

  func cancel() {
    done = nil
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
    if let registration { reactor.deregister(registration) }
    registration = nil
    // It closes its socket.
    if let session { sdp_close(session) }
    session = nil
    socket = nil
  }

  private func finish() {
    let done = done.take()
    let records = records
    cancel()
    done?(records)
  }

  private func connected() {
    if let registration { reactor.deregister(registration) }
    registration = nil
    guard let socket = socket.take(), socket.connectionError() == nil else { return finish() }
    guard let session = sdp_create(socket.number, 0) else { return finish() }
    self.session = session
    do throws(SystemError) {
      registration = try reactor.register(socket, for: .readable) { [unowned self] _ in process() }
    } catch {
      _ = socket.release()
      return finish()
    }
    // The session owns it from now on.
    _ = socket.release()
    guard sdp_set_notify(session, answered, Unmanaged.passUnretained(self).toOpaque()) == 0, ask(session) else {
      return finish()
    }
  }

  private func ask(_ session: UnsafeMutablePointer<sdp_session_t>) -> Bool {
    var uuid = HostRecord.serviceUUID
    var range: UInt32 = 0xFFFF
    let search = sdp_list_append(nil, &uuid)
    let attributes = sdp_list_append(nil, &range)
    defer {
      sdp_list_free(search, nil)
      sdp_list_free(attributes, nil)
    }
    return sdp_service_search_attr_async(session, search, SDP_ATTR_REQ_RANGE, attributes) == 0
  }

  private func process() {
    packets += 1
    guard let session, packets <= Self.packetsMax else { return finish() }
    if sdp_process(session) < 0 || isAnswered { finish() }
  }

  /// Takes the answer, a sequence of records.
  fileprivate func take(_ bytes: UnsafeBufferPointer<UInt8>) {
    var kind: UInt8 = 0
    var length: CInt = 0
    var place = Int(sdp_extract_seqtype(bytes.baseAddress, CInt(bytes.count), &kind, &length))
    var found: [HostRecord] = []
    records = []
    guard place > 0, length > 0 else { return }
    while place < bytes.count, found.count < BluetoothReport.hostsMax {
      var count: CInt = 0
      guard let start = bytes.baseAddress,
        let record = sdp_extract_pdu(start + place, CInt(bytes.count - place), &count)
      else { break }
      defer { sdp_record_free(record) }
      guard count > 0 else { break }
      if let one = HostRecord(record), !found.contains(where: { $0.host == one.host }) { found.append(one) }
      place += Int(count)
    }
    records = found
  }
}

private func answered(
  _ type: UInt8, _ status: UInt16, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) {
  // The search set the session's context, and closes the session when it ends.
  guard let context else { return }
  let search = Unmanaged<HostSearch>.fromOpaque(context).takeUnretainedValue()
  search.isAnswered = true
  guard status == 0, type == SDP_SVC_SEARCH_ATTR_RSP, let bytes else { return }
  search.take(UnsafeBufferPointer(start: bytes, count: count))
}
