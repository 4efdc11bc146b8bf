public import Nearby

/// Options of a gateway; the defaults suit a box on a LAN.
public struct GatewayOptions: Sendable {
  public var host = HostOptions()
  /// The name of the gateway's own peer.
  public var name = "Gateway"
  /// Names under which clients may ask for it, beside its addresses; in lower case.
  public var hostNames: Set<String> = []
  /// The certificate for HTTPS; nil for an authority of the gateway's own, which is made once, in its folder.
  public var certificate: CertificateFiles?
  /// Origins of other sites' pages that may use it, such as `https://stage.example`.
  public var origins: Set<String> = []
  /// Addresses besides this machine's own that get `/metrics` without a token, such as `10.0.0.0/8`.
  public var metricsFrom: [String] = []
  /// Trusted proxies: they say which client asks, by which connection, and for which host; such as `127.0.0.1`.
  public var trustedProxies: [String] = []
  /// The path below which clients find it, such as `/vicinity`; empty at the root. Requests may also come without it.
  public var basePath = ""
  /// Whether requests in the clear are redirected to HTTPS, but for those of this machine itself.
  public var isHTTPSOnly = false
  public var limits = GatewayLimits()
  /// The default lifetime of a pairing code.
  public var pairingCodeLifetime: Duration = .seconds(600)
  /// The least urgent level of its log.
  public var logLevel = LogRecord.Level.info
  /// The folder of the files that are received and sent, and of the gateway's own data.
  public var folder: String
  /// The folder of the dashboard; nil for none.
  public var dashboardFolder: String?
  /// The path of the contract, openapi/vicinity.json; nil for none.
  public var contract: String?
  /// The time for which a peer that lives with its client's WebSocket waits for the client to reconnect.
  public var reconnectTimeout: Duration = .seconds(30)
  /// The time after which the peers of an absent client are shown as away.
  public var awayTime: Duration = .seconds(60)
  /// The time from the expiry of a token to the removal of all that was its client's.
  public var expiredTime: Duration = .seconds(600)
  /// The time over which a scrub of all stored files and rows is spread; zero for no scrub.
  public var scrubTime: Duration = .seconds(86_400)
  /// The time within which a WebSocket must authenticate.
  public var authenticationTimeout: Duration = .seconds(5)

  var sabotage: GatewaySabotage = []
  /// The time in a turn of the loop for the requests of clients, in nanoseconds.
  var turnTime = FairQueue.turnTime

  public init(folder: String) {
    self.folder = folder
    host.port = 7777
  }
}

/// The certificate of a gateway, as files in PEM.
public struct CertificateFiles: Hashable, Sendable {
  /// The server's certificate, then those of its issuers.
  public var certificate: String
  /// The private key, without a password.
  public var key: String

  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}
