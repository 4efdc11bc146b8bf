internal import COpenSSL
internal import Glibc
internal import Wire

/// A certificate's contents, for people. All of it is the word of the certificate's author.
public struct CertificateSummary: Hashable, Sendable {
  /// Names such as `CN = Ann, O = School`; invisible characters are spelled out.
  public let subject: String
  public let issuer: String
  /// Hexadecimal, two digits a byte.
  public let serial: String
  /// Seconds since 1970; nil where the certificate holds no date there.
  public let validFrom: Int?
  public let validUntil: Int?
  /// SHA-256 over the certificate, as `ab:cd:…`.
  public let fingerprint: String

  /// A moment as `2026-01-31 12:00:00 UTC`.
  public static func text(ofSecondsSince1970 seconds: Int?) -> String {
    guard let seconds else { return "an unknown date" }
    var (time, parts) = (seconds, tm())
    guard gmtime_r(&time, &parts) != nil else { return "an unknown date" }
    func padded(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let date = "\(Int(parts.tm_year) + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
    return "\(date) \(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec)) UTC"
  }
}

extension Certificate {
  public var summary: CertificateSummary {
    withX509 { x509 in
      CertificateSummary(
        subject: text(of: X509_get_subject_name(x509)), issuer: text(of: X509_get_issuer_name(x509)),
        serial: serial(of: x509), validFrom: seconds(X509_get0_notBefore(x509)),
        validUntil: seconds(X509_get0_notAfter(x509)), fingerprint: fingerprint)
    }
  }

  private var fingerprint: String { spelled(OpenSSLCrypto().hash(der).bytes, between: ":") }

  private func serial(of x509: OpaquePointer) -> String {
    guard let serial = X509_get0_serialNumber(x509) else { return "" }
    let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(serial), count: Int(ASN1_STRING_length(serial)))
    return spelled(bytes, between: "")
  }

  private func spelled(_ bytes: some Sequence<UInt8>, between separator: String) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: separator)
  }

  private func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return timegm(&parts)
  }

  private func text(of name: OpaquePointer?) -> String {
    let sink = expect(BIO_new(BIO_s_mem()), "write to memory")
    defer { BIO_free(sink) }
    // UTF-8 as it is, since people read it.
    let flags = COpenSSL_XN_FLAG_ONELINE & ~UInt(ASN1_STRFLGS_ESC_MSB)
    guard X509_NAME_print_ex(sink, name, 0, flags) >= 0 else { return "" }
    var bytes: UnsafeMutablePointer<CChar>?
    let count = COpenSSL_BIO_get_mem_data(sink, &bytes)
    let text = UnsafeRawBufferPointer(start: bytes, count: count)
    return visible(String(decoding: text, as: UTF8.self))
  }
}

/// Spells out characters that turn or hide their neighbours, and would let a name pass for another.
private func visible(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { shown, scalar in
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
      shown += "\\u{\(String(scalar.value, radix: 16))}"
    default:
      shown.unicodeScalars.append(scalar)
    }
  }
}
