internal import BluetoothProtocol

/// Limits on questions about pairing, so that no device wears people down until they say yes.
///
/// The limit for all devices is also that of the devices it remembers: an address costs a device nothing.
struct PairingLimits {
  private static let perMinuteMax = 8
  private static let perDeviceMax = 3
  private static let minute: UInt64 = 60_000_000_000
  /// The time for which a device counts that was not paired.
  private static let deviceTime: UInt64 = 10 * minute

  private var asked: [(device: BluetoothAddress, time: UInt64)] = []

  /// Whether one more question may be asked about the device, which then counts.
  mutating func takes(_ device: BluetoothAddress, at now: UInt64) -> Bool {
    asked.removeAll { $0.time + Self.deviceTime <= now }
    guard asked.count(where: { $0.device == device }) < Self.perDeviceMax,
      asked.count(where: { $0.time + Self.minute > now }) < Self.perMinuteMax
    else { return false }
    asked.append((device, now))
    return true
  }

  /// The device was let in.
  mutating func forget(_ device: BluetoothAddress) { asked.removeAll { $0.device == device } }
}
