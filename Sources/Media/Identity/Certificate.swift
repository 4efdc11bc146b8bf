internal import COpenSSL
internal import Wire

/// An X.509 certificate, parsed; whether to trust it is another question.
public final class Certificate: @unchecked Sendable, Hashable {
  // `@unchecked`: only `const` calls are made on the X509 once it is read, and OpenSSL locks what those cache.

  /// The certificate as it was signed.
  public let der: [UInt8]
  private let x509: OpaquePointer

  /// Takes exactly one certificate in DER.
  public init(der: [UInt8]) throws(IdentityError) {
    guard der.count <= Limits.certificateBytesMax else { throw .certificateTooLong(bytes: der.count) }
    // Left behind, an error would be read as that of the next call on this thread.
    defer { ERR_clear_error() }
    let (x509, left) = der.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      let x509 = d2i_X509(nil, &cursor, bytes.count)
      return (x509, cursor.map { bytes.baseAddress.unsafelyUnwrapped + bytes.count - $0 } ?? 0)
    }
    guard let x509 else { throw .notACertificate }
    self.x509 = x509
    self.der = der
    if left != 0 { throw .notACertificate }
  }

  deinit {
    X509_free(x509)
  }

  func withX509<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(x509) }

  public static func == (a: Certificate, b: Certificate) -> Bool { a.der == b.der }
  public func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

// MARK: - Files

extension Certificate {
  /// A file of anchors is read whole; the system's own bundle of all authorities has a quarter of this.
  public static let fileBytesMax = 1 << 20

  /// The certificates of a file: one in DER, or any number in PEM, in the order of the file. Other PEM blocks are
  /// skipped.
  public static func all(in file: [UInt8]) throws(IdentityError) -> [Certificate] {
    guard file.count <= fileBytesMax else { throw .fileTooLong(bytes: file.count, bytesMax: fileBytesMax) }
    // DER begins with the tag of a sequence, which no line of PEM does.
    if file.first == 0x30 { return [try Certificate(der: file)] }
    defer { ERR_clear_error() }
    let source = expect(BIO_new_mem_buf(file, CInt(file.count)), "read from memory")
    defer { BIO_free(source) }
    var found: [Certificate] = []
    while let x509 = PEM_read_bio_X509(source, nil, noPassword, nil) {
      defer { X509_free(x509) }
      found.append(try Certificate(der: encoded(x509)))
    }
    let error = OpenSSLError.take()
    // OpenSSL reports the end of the file as the lack of a further block.
    guard error.reason == PEM_R_NO_START_LINE, !found.isEmpty else { throw .notACertificate }
    return found
  }

  static func encoded(_ x509: OpaquePointer) -> [UInt8] {
    let count = Int(i2d_X509(x509, nil))
    expect(count > 0, "encode a certificate")
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      i2d_X509(x509, &cursor)
    }
    return bytes
  }
}

/// Replaces OpenSSL's own, which asks at the terminal.
private func noPassword(_: UnsafeMutablePointer<CChar>?, _: CInt, _: CInt, _: UnsafeMutableRawPointer?) -> CInt { -1 }
