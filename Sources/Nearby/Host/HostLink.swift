internal import Engine
internal import Media
internal import Reactor
public import Wire

/// A link of this host to another one, with what is known of its quality.
public struct HostLink: Hashable, Sendable {
  public let host: HostID
  /// The name of its medium, such as `lan`.
  public let medium: String
  /// The host that relays it; nil for a direct one.
  public let relay: HostID?
  /// The address of the other end; nil on a medium without addresses of the internet.
  public let address: String?
  /// Whether it is kept beside the link in use, for the moment when that ends.
  public let isStandby: Bool
  /// The shortest round trip of the last minutes, by the system or, where that measures none, by pings; nil before it is
  /// measured.
  public let roundTrip: Duration?
  /// The rate at which the last bytes were delivered; nil where the system does not measure it.
  public let bytesPerSecond: UInt64?
  /// The bytes that were sent, of whatever kind; nil where the system does not measure it.
  public let bytesSent: UInt64?
  /// The bytes that were received; nil where the system does not measure it.
  public let bytesReceived: UInt64?
  /// The part of the bytes that was lost, and sent again, from 0 to 1; nil where the system does not measure it.
  public let loss: Double?
}

extension Host {
  /// The links to other hosts at this moment.
  public var links: [HostLink] {
    get async { (try? await loop.run { $0.links }) ?? [] }
  }
}

extension HostDriver {
  var links: [HostLink] {
    openLinks.map { link in
      let measured = network?.measurements(of: link.id)
      return HostLink(
        host: link.host, medium: link.medium, relay: link.relay,
        address: network?.remoteAddress(of: link.id)?.description,
        isStandby: link.isStandby, roundTrip: measured?.roundTrip ?? link.roundTrip,
        bytesPerSecond: measured?.bytesPerSecond,
        bytesSent: measured?.bytesSent,
        bytesReceived: measured?.bytesReceived,
        loss: measured.map { $0.bytesSent == 0 ? 0 : Double($0.bytesSentAgain) / Double($0.bytesSent) })
    }
  }
}
