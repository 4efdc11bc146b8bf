internal import Engine
internal import Reactor
internal import Wire

/// A link and its datagrams, by the number under which the engine knows them.
final class NetworkLink: SecureLinkOwner, DatagramPathOwner {
  let id: LinkID
  let medium: any Medium
  /// The dial that it answers; nil for one that came in.
  let dial: DialID?
  private(set) var link: SecureLink?
  var path: DatagramPath?
  private let network: HostNetwork

  init(_ id: LinkID, over medium: any Medium, answering dial: DialID?, of network: HostNetwork) {
    self.id = id
    self.medium = medium
    self.dial = dial
    self.network = network
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    self.link = link
    network.opened(self, to: remoteKey, exporter)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    network.driver?.call { $0.receive(upTo: bytesMax, on: id, at: $1, read) }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    network.driver?.call { $0.fill(&output, for: id, at: $1) }
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {
    self.link = nil
    network.closed(id)
  }

  func carries(datagramBytesMax: Int, on path: DatagramPath) {
    network.driver?.call { $0.linkCarriesDatagrams(id, bytesMax: datagramBytesMax, at: $1) }
  }

  func received(datagram: RawSpan, on path: DatagramPath) {
    network.driver?.call { $0.receivedDatagram(datagram, on: id, at: $1) }
  }
}
