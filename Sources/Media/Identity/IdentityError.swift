internal import Wire

/// Why a certificate, a private key or a file of them cannot be used, and what to do.
public enum IdentityError: Error, Hashable, Sendable, CustomStringConvertible {
  case notACertificate
  case certificateTooLong(bytes: Int)
  case fileTooLong(bytes: Int, bytesMax: Int)
  case noCertificate
  case tooManyCertificates(count: Int)
  case noPrivateKey
  case notAPrivateKey
  /// Its kind, in OpenSSL's words.
  case unsupportedKey(String)
  case keyDoesNotFit
  case notAnIdentityFile
  case wrongPassword
  /// The cipher's name.
  case oldCipher(String)
  case noPasswordCheck
  case tooSlow(iterationsMax: Int)

  public var description: String {
    switch self {
    case .notACertificate:
      "This is not an X.509 certificate; give one in DER, or one or more in PEM (-----BEGIN CERTIFICATE-----)."
    case .certificateTooLong(let bytes):
      "A certificate has \(bytes) bytes; at most \(Limits.certificateBytesMax) are taken, so use one with fewer names."
    case .fileTooLong(let bytes, let bytesMax):
      "The file has \(bytes) bytes; at most \(bytesMax) are read: give one that holds only what is needed."
    case .noCertificate:
      "There is no certificate; a security identity needs that of its key, and those of its issuers."
    case .tooManyCertificates(let count):
      "There are \(count) certificates; a chain has at most \(Limits.chainCertificatesMax): leave out what is not in it."
    case .noPrivateKey:
      "There is no private key; export the identity again together with its key."
    case .notAPrivateKey:
      "This is not a private key in PKCS#8."
    case .unsupportedKey(let kind):
      "The private key is of a kind that is not taken (\(kind)); use RSA with 2048 to 8192 bits, P-256, P-384 or Ed25519."
    case .keyDoesNotFit:
      "The private key does not belong to the certificate; export the two together."
    case .notAnIdentityFile:
      "This is not a PKCS#12 file (.p12 or .pfx), or it is damaged; export the identity again, with a password. "
        + "Of PEM files, make one: openssl pkcs12 -export -inkey key.pem -in chain.pem -out identity.p12"
    case .wrongPassword:
      "The password is not the one that the file was exported with, or the file is damaged; type it again, or export anew."
    case .oldCipher(let name):
      "The file is encrypted with \(name), which OpenSSL no longer has ready; convert it: "
        + "umask 077; openssl pkcs12 -legacy -in old.p12 -nodes -out all.pem && "
        + "openssl pkcs12 -export -in all.pem -out new.p12; rm all.pem"
    case .noPasswordCheck:
      "The file carries nothing that its password is checked by; export the identity again, with a password."
    case .tooSlow(let iterationsMax):
      "The file asks for more than \(iterationsMax) rounds of hashing; export the identity again with fewer (-iter 100000)."
    }
  }
}
