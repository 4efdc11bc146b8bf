internal import Media

/// The gateway's certificate for HTTPS, and its authority.
struct WebCertificate: Sendable {
  struct Authority: Hashable, Sendable {
    /// PEM, for devices that shall trust it.
    let certificate: [UInt8]
    /// SHA-256, as `ab:cd:…`.
    let fingerprint: String
  }

  let identity: ServerIdentity
  /// Nil where the certificate is the operator's own.
  let authority: Authority?

  var fingerprint: String { identity.summary.fingerprint }
}
