internal import CLinux
internal import Glibc

/// The measurements of a TCP connection by the system.
public struct TCPMeasurements: Hashable, Sendable {
  /// The shortest round trip of the last minutes. The mean of a quiet connection is longer than that of a packet, since
  /// acknowledgements wait for data to go with.
  public let roundTrip: Duration
  /// The rate at which the last bytes were delivered; 0 before any were.
  public let bytesPerSecond: UInt64
  public let bytesSent: UInt64
  /// The part of them that was lost, and sent again.
  public let bytesSentAgain: UInt64
  public let bytesReceived: UInt64
}

extension Descriptor {
  /// Nil where it is no TCP connection, or the system is too old to say.
  public func tcpMeasurements() -> TCPMeasurements? {
    var state = tcp_measurements()
    var length = socklen_t(MemoryLayout<tcp_measurements>.size)
    guard getsockopt(number, CInt(IPPROTO_TCP), TCP_INFO, &state, &length) == 0,
      length == MemoryLayout<tcp_measurements>.size
    else { return nil }
    return TCPMeasurements(
      roundTrip: .microseconds(Int64(state.min_rtt)), bytesPerSecond: UInt64(state.delivery_rate),
      bytesSent: UInt64(state.bytes_sent), bytesSentAgain: UInt64(state.bytes_retrans),
      bytesReceived: UInt64(state.bytes_received))
  }
}
