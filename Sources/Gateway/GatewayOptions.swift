public import Nearby

/// How a gateway starts; the defaults are what a box on a LAN wants.
public struct GatewayOptions: Sendable {
  public var host = HostOptions()
  /// The name of the gateway's own peer.
  public var name = "Gateway"
  /// Names under which clients may ask for it, beside its addresses; in lower case.
  public var hostNames: Set<String> = []
  /// What HTTPS is spoken with; nil for an authority of the gateway's own, which is made once, in its folder.
  public var certificate: CertificateFiles?
  /// Pages of others that may ask it, such as `https://stage.example`.
  public var origins: Set<String> = []
  /// Addresses beside this machine's own from which anybody is told `/metrics`, such as `10.0.0.0/8`.
  public var metricsFrom: [String] = []
  /// Proxies that are believed when they say who asks, by which way, and for which host, such as `127.0.0.1`.
  public var trustedProxies: [String] = []
  /// Below which clients find it, such as `/vicinity`; empty at the root. Requests may come with it or without.
  public var basePath = ""
  /// Whether requests in the clear are sent to HTTPS, but for those of this machine itself.
  public var isHTTPSOnly = false
  public var limits = GatewayLimits()
  /// How long a pairing code lives, unless whoever makes it says so.
  public var codeLife: Duration = .seconds(600)
  /// What is less urgent is not in its log.
  public var logLevel = LogRecord.Level.info
  /// Where files that are received and sent lie, and what the gateway keeps.
  public var folder: String
  /// Where the dashboard lies; nil for none.
  public var site: String?
  /// The path of the contract, openapi/vicinity.json; nil for none.
  public var contract: String?
  /// How long a peer that lives with its client's WebSocket waits for that to come back.
  public var graceTime: Duration = .seconds(30)
  /// After which the peers of a client that is not there any more are shown as away.
  public var awayTime: Duration = .seconds(60)
  /// The time over which a scrub of all stored files and rows is spread; zero for no scrub.
  public var scrubTime: Duration = .seconds(86_400)
  /// Within which a WebSocket says who it is.
  public var connectTime: Duration = .seconds(5)

  var sabotage: GatewaySabotage = []
  /// Of a turn of the loop, for the requests of clients, in nanoseconds.
  var turnTime = FairQueue.turnTime

  public init(folder: String) {
    self.folder = folder
    host.port = 7777
  }
}

/// The certificate of a gateway, as files in PEM.
public struct CertificateFiles: Hashable, Sendable {
  /// The server's first, then those above it.
  public var certificate: String
  /// Without a password.
  public var key: String

  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}
