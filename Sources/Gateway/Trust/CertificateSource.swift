internal import Glibc
internal import Media
internal import Reactor

/// The source of the gateway's certificate: files of the operator's, or an authority of the gateway's own.
///
/// Its own are in the gateway's folder. A certificate is renewed when the names and addresses of this machine have
/// changed, or it expires soon; the authority only if it may not sign for them, or expires soon itself: devices that
/// trust it have to trust the new one then.
struct CertificateSource: Sendable {
  /// The remaining time at which a certificate is renewed, in days: enough for a gateway that is seldom on.
  static let renewalDays = 30
  /// The interval at which that is checked, and files of the operator's are read again.
  static let renewalTime: Duration = .seconds(3_600)
  /// The limit on addresses in a certificate; no machine has more, and some clients refuse long ones.
  static let placesMax = 64

  let folder: String
  let files: CertificateFiles?
  /// The authority's name in a device's list of trusted certificates.
  let title: String
  let names: [String]

  init(_ options: GatewayOptions, title: String, names: [String]) {
    folder = options.folder
    files = options.certificate
    self.title = title
    self.names = Array(names.prefix(Self.placesMax))
  }

  /// Throws if the present files cannot be used.
  static func check(_ options: GatewayOptions) throws(Problem) {
    let source = CertificateSource(options, title: "", names: [])
    if let files = source.files { _ = try source.read(files) } else { _ = try source.stored(in: source.authorityFile) }
  }

  /// Returns a certificate for these addresses, at which the host listens, and for loopback.
  func obtain(for addresses: [String]) throws(Problem) -> WebCertificate {
    if let files { return try read(files) }
    let here = [SocketAddress("127.0.0.1", port: 0), SocketAddress("::1", port: 0)].compactMap(\.self)
    let others = addresses.compactMap { try? SocketAddress(text: $0) }.map { $0.with(port: 0) }
    // Nobody can connect to a link-local IPv6 address: a URL has no place for its interface.
    let known = Array(
      (here + others.filter { !here.contains($0) && !($0.isV6 && $0.isLinkLocal) }).prefix(Self.placesMax))
    return try obtain(for: known)
  }

  private func obtain(for addresses: [SocketAddress]) throws(Problem) -> WebCertificate {
    let serverFile = PrivateFile(path: "\(folder)/server.pem")
    var authority = try stored(in: authorityFile)
    if let authority, let server = try serverFile.read(), isGood(server, authority, addresses) {
      return try certificate(server, authority)
    }
    if let known = authority {
      let made = issue(known, addresses)
      if isGood(made, known, addresses) {
        do {
          try serverFile.write(made)
        } catch {
          // On a full disk the certificate is used unsaved: devices that trust the authority accept another one next
          // time.
          if error.reason != .noSpace { throw error }
        }
        return try certificate(made, known)
      }
      authority = nil
    }
    let new = LocalAuthority.make(named: title, for: names, addresses, andPrivateNetworks: true)
    let made = issue(new, addresses)
    try authorityFile.write(new.secret)
    try serverFile.write(made)
    return try certificate(made, new)
  }

  private var authorityFile: PrivateFile { PrivateFile(path: "\(folder)/authority.pem") }

  private func stored(in file: PrivateFile) throws(Problem) -> LocalAuthority? {
    guard let bytes = try file.read() else { return nil }
    guard let authority = LocalAuthority(pem: bytes) else {
      throw file.trouble(
        "holds no certificate with its key any more: restore it, or remove it, and have devices trust the new authority"
      )
    }
    return authority
  }

  private func issue(_ authority: LocalAuthority, _ addresses: [SocketAddress]) -> [UInt8] {
    authority.issue(for: names, addresses).map { $0.certificates + $0.key } ?? []
  }

  private func isGood(_ server: [UInt8], _ authority: LocalAuthority, _ addresses: [SocketAddress]) -> Bool {
    authority.vouches(for: server, as: names, addresses, forDays: Self.renewalDays)
  }

  private func certificate(_ server: [UInt8], _ authority: LocalAuthority) throws(Problem) -> WebCertificate {
    WebCertificate(
      identity: try identity(server, server),
      authority: .init(certificate: authority.certificate, fingerprint: authority.summary?.fingerprint ?? ""))
  }

  private func read(_ files: CertificateFiles) throws(Problem) -> WebCertificate {
    WebCertificate(identity: try identity(try contents(files.certificate), try contents(files.key)), authority: nil)
  }

  private func contents(_ path: String) throws(Problem) -> [UInt8] {
    guard let bytes = Folder.read(path, atMost: Certificate.fileBytesMax) else {
      throw Problem(.unavailable, "\(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    return bytes
  }

  private func identity(_ certificates: [UInt8], _ key: [UInt8]) throws(Problem) -> ServerIdentity {
    do throws(ServerIdentityError) {
      return try ServerIdentity(certificates: certificates, key: key)
    } catch {
      throw Problem(.unavailable, error.description)
    }
  }
}
