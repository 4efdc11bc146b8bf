internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// The certificate of HTTPS.
extension Core {
  func openCertificate() async throws {
    let (source, addresses) = (certificateSource, addresses)
    certificate = try await host.onDisk { try source.obtain(for: addresses) }
    renewCertificateLater()
  }

  /// Renews the certificate; open connections keep the old one.
  func renewCertificate() {
    let (source, addresses, host) = (certificateSource, addresses, host)
    start { core in
      do {
        core.use(try await host.onDisk { try source.obtain(for: addresses) })
      } catch {
        core.keepCertificate(because: Problem(wrapping: error).detail)
      }
    }
  }

  private func renewCertificateLater() {
    reactor.schedule(after: CertificateSource.renewalTime) { [weak self] in
      self?.renewCertificate()
      self?.renewCertificateLater()
    }
  }

  private func use(_ new: WebCertificate) {
    let old = certificate
    certificateError = nil
    if old?.fingerprint == new.fingerprint { return }
    certificate = new
    front?.identity = new.identity
    let isOther = old?.authority != new.authority
    log(
      .info, for: .operator, isOther ? "authorityRenewed" : "certificateRenewed",
      isOther ? "there is a new certificate authority: devices must trust it" : "HTTPS has a new certificate",
      [.init("fingerprint", .text(fingerprint))])
    events.publish(
      isOther ? "authorityRenewed" : "certificateRenewed", about: "/v1/gateway", .gateway,
      [.init("fingerprint", .text(fingerprint))])
  }

  /// Keeps the present certificate.
  private func keepCertificate(because cause: String) {
    if certificateError == cause { return }
    certificateError = cause
    log(.warning, for: .operator, "certificateNotRenewed", "the certificate of HTTPS cannot be renewed: \(cause)")
    events.publish("certificateNotRenewed", about: "/v1/gateway", .operators, [.init("cause", .text(cause))])
  }

  /// The fingerprint that users compare: of the authority, which lasts, or of a certificate of the operator's.
  var fingerprint: String { certificate?.authority?.fingerprint ?? certificate?.fingerprint ?? "" }

  /// The gateway's URLs, with HTTPS first. A URL has no place for the interface of a link-local IPv6 address.
  var urls: [String] {
    let places = addresses.filter { !$0.contains("%") }
    return (options.isHTTPSOnly ? ["https"] : ["https", "http"]).flatMap { scheme in
      places.map { "\(scheme)://\($0)\(access.base.text)" }
    }
  }

  /// The URL for a browser of another machine. The page is unencrypted for a role that may be had there: it explains the warning of
  /// the first HTTPS visit, and leads on to HTTPS.
  func url(for role: Role) -> String? {
    role > .member ? urls.first : urls.first { $0.hasPrefix("http:") } ?? urls.first
  }

  /// The URL for browsers of this machine, unencrypted, since nobody reads along there.
  var localURL: String? {
    guard let port = host.network?.port, let name = localName else { return nil }
    return "http://\(name):\(port)\(access.base.text)"
  }

  private var localName: String? {
    let places = options.host.sockets.isEmpty ? options.host.listen : []
    if places.isEmpty { return "localhost" }
    let addresses = places.compactMap { try? SocketAddress(textOfPlace: $0) }
    // Browsers try both addresses of "localhost".
    if addresses.contains(where: { $0.isAny || ["127.0.0.1", "::1"].contains($0.hostText) }) { return "localhost" }
    return addresses.first(where: \.isLoopback)?.hostText
  }

  /// The authority's certificate, for devices that shall trust it.
  func authority() throws(Problem) -> Reply {
    guard let authority = certificate?.authority else {
      throw Problem(.notFound, "this gateway shows a certificate of its operator's, and has no authority of its own")
    }
    var reply = Reply(200, .bytes(authority.certificate, type: "application/x-x509-ca-cert"))
    reply.headers = [.init(name: "Content-Disposition", value: "attachment; filename=\"vicinity-authority.crt\"")]
    return reply
  }
}
