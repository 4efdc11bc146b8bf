internal import Media

/// A Bluetooth device that wants to be paired with this machine, and waits for a yes or a no; no answer in time is a no.
///
/// ```swift
/// for await pairing in host.bluetoothPairings {
///   try await pairing.answer(isSameOnBothScreens(pairing.number))
/// }
/// ```
public final class BluetoothPairing: Sendable {
  public enum End: String, Sendable, CaseIterable {
    /// It was let in here; whether the other side agrees is not known.
    case accepted
    case declined
    /// Nobody has answered in time.
    case timedOut
    /// The device or the system's Bluetooth has given up, or this host has stopped.
    case cancelled
  }

  /// Its number at this host.
  public let id: UInt64
  /// Its address, such as `00:AA:01:00:00:42`.
  public let device: String
  /// The name that the device gives itself: the text of a stranger, which may be empty.
  public let name: String
  /// The six digits that the device must show as well; nil where it shows none.
  public let number: String?
  /// The time for an answer, from when it came.
  public let timeLeft: Duration
  let outcome = Promise<End>()
  private let send: @Sendable (Bool) async throws -> Void

  init(_ question: BluetoothPairingQuestion, send: @escaping @Sendable (Bool) async throws -> Void) {
    id = question.id
    device = question.device
    name = question.name
    number = question.number
    timeLeft = question.timeLeft
    self.send = send
  }

  /// Lets it in, or refuses it. Throws where the question has ended.
  public func answer(_ isAccepted: Bool) async throws(NearbyError) {
    do { try await send(isAccepted) } catch { throw NearbyError(wrapping: error) }
  }

  /// How it ended.
  public var ended: End {
    get async { await outcome.value }
  }
}

extension BluetoothPairing.End {
  init(_ end: BluetoothPairingEnd) {
    self =
      switch end {
      case .accepted: .accepted
      case .declined: .declined
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      }
  }
}
