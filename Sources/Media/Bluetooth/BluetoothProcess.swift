internal import BluetoothProtocol
internal import Engine
internal import Reactor

/// The connection with a process of `vicinity-bluetooth`, which is made again whenever it ends.
///
/// The process is no more trusted than a stranger on the network: a report that is not valid, more of them than the loop should
/// see, or none for a long time after a command, ends the connection. Sockets that it has handed over stay.
///
/// It belongs to its reactor's thread.
final class BluetoothProcess {
  enum Event {
    case began
    case report(BluetoothReport, DescriptorBox?)
    /// It has ended, and is started again.
    case ended
    /// It could not be started, or has broken a rule; it is tried again.
    case failed(Trouble)
  }

  private static let pauseMin: Duration = .milliseconds(250)
  private static let pauseMax: Duration = .seconds(30)
  /// The life after which one counts as one that works.
  private static let livelyTime: Duration = .seconds(10)
  private static let packetsPerTurnMax = 64
  /// More than an honest one reports: each device of a crowd, twice in a second.
  private static let packetsPerSecondMax = 1_000
  /// An honest one answers each command, within 25 seconds.
  static let answerTimeMax: Duration = .seconds(30)

  private let reactor: Reactor
  private let connect: () throws(Trouble) -> Descriptor
  private let report: (Event) -> Void
  private var socket: Descriptor?
  private var registration: Registration?
  private var retry: Timer?
  private var pause = pauseMin
  private var began: UInt64 = 0
  private var second: (start: UInt64, packets: Int) = (0, 0)
  private let answerTimeMax: Duration
  /// Runs from a command to the next report, whichever that is.
  private var answerDeadline: Timer?
  private var isClosed = false

  init(
    on reactor: Reactor, answeringWithin answerTimeMax: Duration = answerTimeMax,
    connect: @escaping () throws(Trouble) -> Descriptor, report: @escaping (Event) -> Void
  ) {
    self.reactor = reactor
    self.answerTimeMax = answerTimeMax
    self.connect = connect
    self.report = report
    reactor.soon { [weak self] in self?.begin() }
  }

  deinit { close() }

  func close() {
    isClosed = true
    if let retry { reactor.cancel(retry) }
    retry = nil
    drop()
  }

  /// Sends a command, if the process is there.
  func send(_ command: BluetoothCommand) {
    guard socket != nil else { return }
    do throws(SystemError) {
      try socket?.sendPacket(command.bytes)
      if case .cancel = command { return }
      if answerDeadline == nil {
        answerDeadline = reactor.schedule(after: answerTimeMax) { [unowned self] in
          answerDeadline = nil
          end(Self.silent)
        }
      }
    } catch {
      // It does not read, or is gone; within the turn, nobody expects a report.
      reactor.soon { [weak self] in self?.end(nil) }
    }
  }

  private func begin() {
    if isClosed { return }
    do throws(Trouble) {
      let socket = try connect()
      began = Reactor.now
      // Packets of an earlier process do not count for this one.
      second = (began, 0)
      do throws(SystemError) {
        registration = try reactor.register(socket, for: .readable) { [unowned self] _ in receive() }
      } catch {
        throw Trouble(cause: "vicinity-bluetooth cannot be used: \(error).", cure: "Start the program again.")
      }
      self.socket = consume socket
    } catch {
      report(.failed(error))
      return retryLater()
    }
    report(.began)
  }

  private func receive() {
    for _ in 0..<Self.packetsPerTurnMax {
      guard socket != nil else { return }
      do throws(SystemError) {
        guard var packet = try socket?.receivePacket(bytesMax: BluetoothReport.bytesMax) else { return }
        guard !packet.bytes.isEmpty else { return end(nil) }
        guard countPacket(), packet.isWhole, let one = BluetoothReport(packet.bytes) else { return end(Self.liar) }
        var box: DescriptorBox?
        if let descriptor = packet.descriptor.take() { box = DescriptorBox(descriptor) }
        guard one.hasDescriptor == (box != nil) else { return end(Self.liar) }
        stopWaiting()
        report(.report(one, box))
      } catch {
        return end(nil)
      }
    }
  }

  /// Returns whether the packet is within the rate limit.
  private func countPacket() -> Bool {
    let now = Reactor.now
    if now - second.start > 1_000_000_000 { second = (now, 0) }
    second.packets += 1
    return second.packets <= Self.packetsPerSecondMax
  }

  private static let liar = Trouble(
    cause: "vicinity-bluetooth breaks the rules of its connection with this host.",
    cure: "Install the one of the same version.")

  private static let silent = Trouble(
    cause: "vicinity-bluetooth does not answer.", cure: "It is started again; see the system's log for the reason.")

  private func stopWaiting() {
    if let answerDeadline { reactor.cancel(answerDeadline) }
    answerDeadline = nil
  }

  private func end(_ trouble: Trouble?) {
    guard socket != nil else { return }
    if Reactor.now - began > UInt64(Self.livelyTime / .nanoseconds(1)) { pause = Self.pauseMin }
    drop()
    report(trouble.map { .failed($0) } ?? .ended)
    retryLater()
  }

  private func drop() {
    stopWaiting()
    if let registration { reactor.deregister(registration) }
    registration = nil
    socket = nil
  }

  private func retryLater() {
    if isClosed { return }
    retry = reactor.schedule(after: pause) { [unowned self] in
      retry = nil
      begin()
    }
    pause = min(pause * 2, Self.pauseMax)
  }
}
