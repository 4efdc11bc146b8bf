import FoundationEssentials
import Glibc
import Media

/// A folder of a test's own, in which the `openssl` command makes keys, certificates and files of them.
final class CertificateFolder {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The password of each file.
  static let password = "Jäger & “Söhne” 100 %"

  let path: String

  init() {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/vicinity-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("a temporary folder cannot be made: errno \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Runs shell commands in the folder, with the password in `$password`.
  func run(_ commands: String) throws {
    try Data(commands.utf8).write(to: URL(filePath: "\(path)/commands"))
    let line = "cd '\(path)' && password='\(Self.password)' sh -eu commands >log 2>&1"
    if system(line) != 0 {
      throw Failure(description: "\(commands)\n\(String(decoding: bytes(of: "log"), as: UTF8.self))")
    }
  }

  func bytes(of name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { [UInt8]($0) } ?? []
  }

  func certificate(_ name: String) throws -> Certificate { try Certificate.all(in: bytes(of: "\(name).pem"))[0] }

  func chain(_ names: String...) throws -> [[UInt8]] { try names.map { try certificate($0).der } }

  // MARK: Making things

  enum Kind: String, CaseIterable {
    case rsa2048 = "RSA -pkeyopt rsa_keygen_bits:2048"
    case p256 = "EC -pkeyopt ec_paramgen_curve:P-256"
    case p384 = "EC -pkeyopt ec_paramgen_curve:P-384"
    case ed25519 = "ED25519"
  }

  static let authority = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign"
  static let leaf = "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature"

  /// `name.key` and `name.pem`, issued by another made before, or by itself.
  func make(
    _ name: String, by issuer: String? = nil, kind: String = Kind.p256.rawValue, extensions: String = authority,
    days: String = "-days 1000", subject: String? = nil, hash: String = ""
  ) throws {
    let signer = issuer.map { "-CA \($0).pem -CAkey \($0).key -CAcreateserial" } ?? "-signkey \(name).key"
    try run(
      """
      [ -e \(name).key ] || openssl genpkey -algorithm \(kind) -out \(name).key
      printf '\(extensions)\n' >\(name).ext
      openssl req -new -utf8 -key \(name).key -subj '\(subject ?? "/CN=\(name)")' -out \(name).csr
      openssl x509 -req -in \(name).csr \(signer) -extfile \(name).ext \(days) \(hash) -out \(name).pem
      """)
  }

  /// `root`, `upper`, `lower` and `leaf`, each issued by the one before.
  func makeChain(leafKind: String = Kind.p256.rawValue) throws {
    try make("root")
    try make("upper", by: "root")
    try make("lower", by: "upper")
    try make("leaf", by: "lower", kind: leafKind, extensions: Self.leaf)
  }

  /// `identity.p12` of a key and certificates in the order given.
  func export(_ certificates: [String], key: String? = "leaf", options: String = "") throws {
    let inputs = certificates.map { "\($0).pem" }.joined(separator: " ")
    let keyOption = key.map { "-inkey \($0).key" } ?? "-nokeys"
    try run(
      """
      cat \(inputs) >all.pem
      openssl pkcs12 -export -in all.pem \(keyOption) \(options) -passout "pass:$password" -out identity.p12
      """)
  }

  func identity(password: String = password) throws -> HeldIdentity {
    try IdentityFile.identity(from: bytes(of: "identity.p12"), password: password)
  }
}
