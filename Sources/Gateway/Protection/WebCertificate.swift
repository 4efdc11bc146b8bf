internal import Media

/// What the gateway shows for HTTPS, and who vouches for it.
struct WebCertificate: Sendable {
  struct Authority: Hashable, Sendable {
    /// PEM, for anybody who wants to believe it.
    let certificate: [UInt8]
    /// SHA-256, as `ab:cd:…`.
    let fingerprint: String
  }

  let identity: ServerIdentity
  /// Nil where the certificate is the operator's own.
  let authority: Authority?

  var fingerprint: String { identity.summary.fingerprint }
}
