internal import COpenSSL
internal import Wire

/// Basic X.509 path validation: whether a chain leads from its leaf to an anchor.
public enum CertificateChain {
  /// Validates a chain as a peer shows it, leaf first, at a moment. An anchor is trusted as it is, whether it is a
  /// root, an intermediate certificate, or the leaf itself; its dates count too. Revocation is not checked: there may
  /// be nobody to ask.
  public static func evaluate(
    _ chain: [[UInt8]], anchors: [Certificate], at secondsSince1970: Int
  ) -> TrustVerdict {
    if chain.count > Limits.chainCertificatesMax { return .distrusted(.tooManyCertificates(count: chain.count)) }
    var shown: [Certificate] = []
    for der in chain {
      do throws(IdentityError) {
        shown.append(try Certificate(der: der))
      } catch {
        return .distrusted(.unreadable(position: shown.count + 1, error))
      }
    }
    guard let leaf = shown.first else { return .distrusted(.noCertificate) }
    // OpenSSL would go on past a leaf that is an anchor, and check certificates that nobody needs.
    let others = anchors.contains(leaf) ? [] : Array(shown.dropFirst())
    let evaluation = Evaluation(of: leaf, with: others, anchors: anchors, at: secondsSince1970)
    return evaluation.verdict()
  }
}

/// One call of OpenSSL's check, with its inputs.
private struct Evaluation: ~Copyable {
  /// 112 bits: RSA from 2048 on, no MD5 and no SHA-1.
  private static let securityLevel: CInt = 2

  private let leaf: Certificate
  private let anchors: [Certificate]
  private let store: OpaquePointer
  private let stack: OpaquePointer
  private let context: OpaquePointer

  init(of leaf: Certificate, with others: [Certificate], anchors: [Certificate], at secondsSince1970: Int) {
    self.leaf = leaf
    self.anchors = anchors
    store = expect(X509_STORE_new(), "make a store of certificates")
    stack = expect(COpenSSL_sk_X509_new(), "make a list of certificates")
    context = expect(X509_STORE_CTX_new(), "make a check of certificates")
    for anchor in anchors {
      expect(anchor.withX509 { X509_STORE_add_cert(store, $0) } == 1, "add an anchor")
    }
    for other in others {
      expect(other.withX509 { COpenSSL_sk_X509_push(stack, $0) } == 1, "add a certificate")
    }
    expect(leaf.withX509 { X509_STORE_CTX_init(context, store, $0, stack) } == 1, "begin a check of certificates")
    let rules = X509_STORE_CTX_get0_param(context)
    X509_VERIFY_PARAM_set_time(rules, secondsSince1970)
    X509_VERIFY_PARAM_set_auth_level(rules, Self.securityLevel)
    X509_VERIFY_PARAM_set_depth(rules, CInt(Limits.chainCertificatesMax))
    expect(X509_VERIFY_PARAM_set_flags(rules, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1, "believe any anchor")
  }

  deinit {
    X509_STORE_CTX_free(context)
    COpenSSL_sk_X509_free(stack)
    X509_STORE_free(store)
    ERR_clear_error()
  }

  consuming func verdict() -> TrustVerdict {
    guard X509_verify_cert(context) == 1 else { return .distrusted(reason(X509_STORE_CTX_get_error(context))) }
    let usage = leaf.withX509(X509_get_key_usage)
    if usage & UInt32(KU_DIGITAL_SIGNATURE) == 0 { return .distrusted(.mayNotSign(subject: leaf.summary.subject)) }
    let path = X509_STORE_CTX_get0_chain(context)
    let end = COpenSSL_sk_X509_value(path, COpenSSL_sk_X509_num(path) - 1)
    let anchor = end.flatMap { end in anchors.first { $0.withX509 { X509_cmp($0, end) } == 0 } }
    guard let anchor else { fatalError("OpenSSL found a path to no anchor") }
    return .trusted(by: anchor)
  }

  private func reason(_ error: CInt) -> Distrust {
    let current = X509_STORE_CTX_get_current_cert(context)
    let culprit = current.flatMap { try? Certificate(der: Certificate.encoded($0)) } ?? leaf
    let summary = culprit.summary
    let subject = summary.subject
    switch error {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return .expired(subject: subject, since: summary.validUntil)
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return .notYetValid(subject: subject, before: summary.validFrom)
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return .issuerUnknown(subject: subject, issuer: summary.issuer)
    case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE:
      return .badSignature(subject: subject)
    case X509_V_ERR_INVALID_CA:
      let isAuthority = culprit.withX509(X509_get_extension_flags) & UInt32(EXFLAG_CA) != 0
      return isAuthority ? .mayNotSignCertificates(subject: subject) : .notAnAuthority(subject: subject)
    case X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_CERT_CHAIN_TOO_LONG:
      return .pathTooLong(subject: subject)
    case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
      return .mayNotSignCertificates(subject: subject)
    case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK:
      return .tooWeak(subject: subject)
    default:
      let words = X509_verify_cert_error_string(Int(error)).map { String(cString: $0) }
      return .other(subject: subject, words ?? "X.509 error \(error)")
    }
  }
}
