/// The URLs of a gateway.
public struct GatewayAddresses: Hashable, Sendable {
  /// Such as `https://192.168.1.5:7777`; unencrypted ones come last.
  public let urls: [String]
  /// The URL for browsers of this machine, such as `http://localhost:7777`; nil where it does not listen there.
  public let local: String?
  /// SHA-256 of its authority's certificate, or of its own where that is the operator's; as `ab:cd:…`.
  public let fingerprint: String
  /// Whether `/v1/gateway/authority` has a certificate for devices to trust.
  public let hasOwnAuthority: Bool
}
