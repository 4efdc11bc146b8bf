/// A question whether a device may be paired, which only people can answer.
public struct PairingQuestion: Hashable, Sendable {
  /// How it has ended.
  public enum End: UInt8, Sendable, CaseIterable {
    case accepted = 1
    case declined
    /// Nobody has answered in time, which is a no.
    case timedOut
    /// The device, or the Bluetooth daemon, has given up.
    case cancelled
  }

  /// As long as the name of a device may be.
  public static let nameBytesMax = 248
  public static let numberMax: UInt32 = 999_999
  /// The time for an answer: the other device's controller gives up after 30 s.
  public static let timeMax: Duration = .seconds(25)

  /// Its number in its process.
  public var id: UInt32
  public var device: BluetoothAddress
  /// The name that the device gives itself; it may be empty, and anything at all.
  public var name: String
  /// The number that both devices show; nil where the other one shows none.
  public var number: UInt32?
  /// The time that is left for an answer, in milliseconds: to ask takes some of it.
  public var millisecondsLeft: UInt16

  public init(
    id: UInt32, device: BluetoothAddress, name: String, number: UInt32?, timeLeft: Duration = timeMax
  ) {
    self.id = id
    self.device = device
    self.name = name
    self.number = number
    millisecondsLeft = UInt16(max(.zero, min(timeLeft, Self.timeMax)) / .milliseconds(1))
  }
}

extension PacketReader {
  mutating func pairingQuestion() -> PairingQuestion? {
    guard let id = number(bytes: 4), let device = address(), let name = text(),
      name.utf8.count <= PairingQuestion.nameBytesMax, let hasNumber = flag(), let number = number(bytes: 4),
      hasNumber ? number <= PairingQuestion.numberMax : number == 0,
      let left = self.number(bytes: 2).map({ Duration.milliseconds($0) }), left <= PairingQuestion.timeMax
    else { return nil }
    return PairingQuestion(
      id: UInt32(id), device: device, name: name, number: hasNumber ? UInt32(number) : nil, timeLeft: left)
  }
}

extension PacketWriter {
  mutating func put(_ question: PairingQuestion) {
    put(UInt64(question.id), bytes: 4)
    put(question.device)
    put(question.name)
    put(question.number == nil ? 0 : 1)
    put(UInt64(question.number ?? 0), bytes: 4)
    put(UInt64(question.millisecondsLeft), bytes: 2)
  }
}
