import FoundationEssentials
import Glibc
import Media
import TestKit

/// Certificates made by the `openssl` command.
enum Fixture {
  struct Failure: Error {}

  /// A P-256 key with its own certificate.
  static func identity() throws -> HeldIdentity {
    let folder = TemporaryFolder()
    let command = """
      cd '\(folder.path)' && exec 2>&1 >/dev/null &&
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Ann -days 30 \
        -keyout key.pem -out leaf.der -outform DER &&
      openssl pkcs8 -topk8 -nocrypt -in key.pem -outform DER -out key.der
      """
    guard system(command) == 0 else { throw Failure() }
    let chain = [try Certificate(der: folder.bytes(of: "leaf.der"))]
    return try HeldIdentity(privateKey: folder.bytes(of: "key.der"), chain: chain)
  }
}
