internal import Wire

public enum TrustVerdict: Hashable, Sendable {
  /// The anchor to which it leads.
  case trusted(by: Certificate)
  case distrusted(Distrust)
}

/// Why a chain is not trusted. Dates are seconds since 1970.
public enum Distrust: Hashable, Sendable, CustomStringConvertible {
  case noCertificate
  case tooManyCertificates(count: Int)
  case unreadable(position: Int, IdentityError)
  case notYetValid(subject: String, before: Int?)
  case expired(subject: String, since: Int?)
  case issuerUnknown(subject: String, issuer: String)
  case badSignature(subject: String)
  case notAnAuthority(subject: String)
  case mayNotSignCertificates(subject: String)
  case mayNotSign(subject: String)
  case pathTooLong(subject: String)
  case tooWeak(subject: String)
  case other(subject: String, String)

  public var description: String {
    switch self {
    case .noCertificate:
      "No certificate was shown."
    case .tooManyCertificates(let count):
      "\(count) certificates were shown; a chain has at most \(Limits.chainCertificatesMax)."
    case .unreadable(let position, let error):
      "Certificate \(position) of the chain cannot be used: \(error)"
    case .notYetValid(let subject, let date):
      "The certificate of “\(subject)” is not valid before \(CertificateSummary.text(ofSecondsSince1970: date)); "
        + "is this computer's clock right?"
    case .expired(let subject, let date):
      "The certificate of “\(subject)” ran out at \(CertificateSummary.text(ofSecondsSince1970: date)); "
        + "it has to be renewed, if this computer's clock is right."
    case .issuerUnknown(let subject, let issuer):
      "The certificate of “\(subject)” was issued by “\(issuer)”, which is none of the anchors, and whose own "
        + "certificate leads to none; add the anchor if it is to be believed."
    case .badSignature(let subject):
      "The signature on the certificate of “\(subject)” is not its issuer's: it was forged or damaged."
    case .notAnAuthority(let subject):
      "“\(subject)” has issued a certificate without being an authority."
    case .mayNotSignCertificates(let subject):
      "The key of “\(subject)” has signed a certificate, which its own certificate does not allow."
    case .mayNotSign(let subject):
      "The certificate of “\(subject)” does not let its key sign, so that it proves nobody's identity."
    case .pathTooLong(let subject):
      "More certificates stand below “\(subject)” than are allowed."
    case .tooWeak(let subject):
      "The certificate of “\(subject)” has a key or a signature that is too weak; RSA needs 2048 bits, and the hash "
        + "must be SHA-256 or better."
    case .other(let subject, let words):
      "The certificate of “\(subject)” is not to be believed: \(words)."
    }
  }
}
