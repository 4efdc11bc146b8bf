/// A pairing code with its role, scopes and URLs.
public struct PairingTicket: Hashable, Sendable {
  /// Such as `ABCD-EFGH`; for one use.
  public let code: String
  public let role: String
  /// The parts of the gateway that it allows; empty for all.
  public let scopes: [String]
  public let seconds: Int
  /// The page that takes the code: after a `#`, which a browser sends to no server. Nil where the gateway has no
  /// address.
  public let url: String?
  /// The same for a browser of this machine.
  public let localURL: String?

  init(code: String, role: String, scopes: [String], seconds: Int, url: String?, localURL: String?) {
    self.localURL = localURL
    self.code = code
    self.role = role
    self.scopes = scopes
    self.seconds = seconds
    self.url = url
  }
}
