/// A pairing code, and what goes with it.
public struct PairingTicket: Hashable, Sendable {
  /// Such as `ABCD-EFGH`; for one use.
  public let code: String
  public let role: String
  /// In which parts of the gateway; empty for all.
  public let scopes: [String]
  public let seconds: Int
  /// The page that takes the code: behind a `#`, which a browser tells no server. Nil where the gateway has no address.
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
