internal import BluetoothProtocol
internal import Reactor

/// A question about a Bluetooth device that wants to be paired with this machine.
public struct BluetoothPairingQuestion: Hashable, Sendable {
  /// Its number at this host.
  public let id: UInt64
  /// Such as `00:AA:01:00:00:42`.
  public let device: String
  /// The name that the device gives itself; it may be empty, and anything at all.
  public let name: String
  /// The six digits that both devices show; nil where the other one shows none.
  public let number: String?
  /// The time for an answer.
  public let timeLeft: Duration
}

public enum BluetoothPairingEnd: String, Sendable, CaseIterable { case accepted, declined, timedOut, cancelled }

public enum BluetoothPairingEvent: Hashable, Sendable {
  case asked(BluetoothPairingQuestion)
  case ended(UInt64, BluetoothPairingEnd)
}

/// The open questions of one process of `vicinity-bluetooth`, which is trusted no more than a stranger: it has a limit of
/// them, and each ends in time whatever it does.
///
/// It belongs to its reactor's thread.
final class BluetoothPairings {
  private static let openMax = 8
  /// An honest process asks eight times in a minute at most.
  private static let perMinuteMax = 16
  private static let minute: UInt64 = 60_000_000_000
  /// The process ends a question before that.
  private static let timeMax: Duration = PairingQuestion.timeMax + .seconds(5)

  private let reactor: Reactor
  private let number: () -> UInt64
  private let send: (BluetoothCommand) -> Void
  private let report: (BluetoothPairingEvent) -> Void
  /// The number at this host and the limit of each, by its number in the process.
  private var open: [UInt32: Open] = [:]
  /// The times of questions in the last minute.
  private var times: [UInt64] = []

  private struct Open {
    let number: UInt64
    let limit: Timer
    /// Whether somebody has said yes to it here.
    var isAccepted = false
  }

  /// `number` gives a new one of this host.
  init(
    on reactor: Reactor, number: @escaping () -> UInt64, send: @escaping (BluetoothCommand) -> Void,
    report: @escaping (BluetoothPairingEvent) -> Void
  ) {
    self.reactor = reactor
    self.number = number
    self.send = send
    self.report = report
  }

  deinit { for question in open.values { reactor.cancel(question.limit) } }

  func asked(_ question: PairingQuestion) {
    guard open[question.id] == nil else { return }
    times.removeAll { $0 + Self.minute <= Reactor.now }
    guard open.count < Self.openMax, times.count < Self.perMinuteMax else {
      return send(.answerPairing(id: question.id, isAccepted: false))
    }
    times.append(Reactor.now)
    let number = number()
    let limit = reactor.schedule(after: Self.timeMax) { [unowned self] in ended(question.id, .timedOut) }
    open[question.id] = Open(number: number, limit: limit)
    report(
      .asked(
        BluetoothPairingQuestion(
          id: number, device: question.device.description, name: question.name,
          number: question.number.map { number in
            let digits = String(number)
            return String(repeating: "0", count: 6 - digits.count) + digits
          }, timeLeft: .milliseconds(question.millisecondsLeft))))
  }

  func ended(_ id: UInt32, _ end: PairingQuestion.End) {
    guard let question = open.removeValue(forKey: id) else { return }
    reactor.cancel(question.limit)
    let end: BluetoothPairingEnd =
      switch end {
      // A process that accepts by itself is none of this version.
      case .accepted: question.isAccepted ? .accepted : .cancelled
      case .declined: .declined
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      }
    report(.ended(question.number, end))
  }

  /// The process is gone, and its questions with it.
  func endAll() { for id in open.keys.sorted() { ended(id, .cancelled) } }

  /// Answers the question of this number; false where it is none of these.
  func answer(_ number: UInt64, isAccepted: Bool) -> Bool {
    guard let id = open.first(where: { $0.value.number == number })?.key else { return false }
    open[id]?.isAccepted = isAccepted
    send(.answerPairing(id: id, isAccepted: isAccepted))
    return true
  }
}
