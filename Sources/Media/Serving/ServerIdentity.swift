/// The certificate that a web server shows, and its key.
public struct ServerIdentity: Sendable {
  let certificates: [UInt8]
  let key: [UInt8]

  /// The server's certificate and those above it, the root left out, and the key without a password: both PEM.
  public init(certificates: [UInt8], key: [UInt8]) {
    self.certificates = certificates
    self.key = key
  }
}
