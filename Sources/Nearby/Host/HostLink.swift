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
  /// The rate at which the last bytes were delivered: by the system or, where that measures none, as far as bytes had to
  /// wait for others before them; nil before it is measured.
  public let bytesPerSecond: UInt64?
  /// The bytes that were sent, of whatever kind.
  public let bytesSent: UInt64
  /// The bytes that were received; nil where the system does not measure it.
  public let bytesReceived: UInt64?
  /// The part of the bytes that was lost, and sent again, from 0 to 1. Of a relayed link, on the way to its relay. Nil where
  /// the system does not measure it, as by Bluetooth.
  public let loss: Double?
}

extension Host {
  /// The links to other hosts at this moment.
  public var links: [HostLink] {
    get async { (try? await loop.run { $0.links }) ?? [] }
  }
}

extension HostDriver {
  var links: [HostLink] { openLinks.map(measure) }

  func measure(_ link: LinkState) -> HostLink {
    let (measured, sending) = (network?.measurements(of: link.id), network?.sending(of: link.id))
    return HostLink(
      host: link.host, medium: link.medium, relay: link.relay,
      address: network?.remoteAddress(of: link.id)?.description,
      isStandby: link.isStandby, roundTrip: measured?.roundTrip ?? link.roundTrip,
      bytesPerSecond: measured?.bytesPerSecond ?? sending?.bytesPerSecond,
      bytesSent: measured?.bytesSent ?? sending?.bytes ?? 0, bytesReceived: measured?.bytesReceived,
      loss: loss(of: link))
  }

  private func loss(of link: LinkState) -> Double? {
    if let relay = link.relay { return usedLink(to: relay).flatMap { $0.relay == nil ? loss(of: $0) : nil } }
    if link.isLossless { return 0 }
    return network?.measurements(of: link.id).map {
      $0.bytesSent == 0 ? 0 : Double($0.bytesSentAgain) / Double($0.bytesSent)
    }
  }
}
