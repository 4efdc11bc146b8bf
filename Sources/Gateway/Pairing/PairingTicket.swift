/// A pairing code, and what goes with it.
public struct PairingTicket: Hashable, Sendable {
  /// Such as `ABCD-EFGH`; for one use.
  public let code: String
  public let role: String
  public let seconds: Int
  /// The page that takes the code: behind a `#`, which a browser tells no server. Nil where the gateway has no address.
  public let url: String?

  init(code: String, role: String, seconds: Int, url: String?) {
    self.code = code
    self.role = role
    self.seconds = seconds
    self.url = url
  }
}
