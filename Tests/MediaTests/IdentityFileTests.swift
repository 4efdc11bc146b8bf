import COpenSSL
import Engine
import FoundationEssentials
import Media
import Testing
import Wire

@Suite struct IdentityFileTests {
  private let bench = CertificateFolder()

  @Test(arguments: CertificateFolder.Kind.allCases)
  func `P-SEC-2 An identity with its intermediates comes from a file, signs, and is verified by its leaf`(
    _ kind: CertificateFolder.Kind
  ) throws {
    try bench.makeChain(leafKind: kind.rawValue)
    try bench.export(["leaf", "lower", "upper", "root"])
    let identity = try bench.identity()
    #expect(identity.chain.map(\.der) == (try bench.chain("leaf", "lower", "upper")))

    let crypto = OpenSSLCrypto()
    #expect(crypto.sign([1, 2, 3], with: identity.id) == nil)
    crypto.hold(identity)
    let signature = try #require(crypto.sign([1, 2, 3], with: identity.id))
    #expect(crypto.verify(signature, of: [1, 2, 3], byLeafOf: identity.shown.chain))
    #expect(!crypto.verify(signature, of: [1, 2, 4], byLeafOf: identity.shown.chain))
    #expect(!crypto.verify(signature, of: [1, 2, 3], byLeafOf: Array(identity.shown.chain.dropFirst())))
    #expect(signature.count <= Limits.identitySignatureBytesMax)
    crypto.drop(identity.id)
    #expect(crypto.sign([1, 2, 3], with: identity.id) == nil)
  }

  @Test(arguments: [
    ["leaf", "lower", "upper", "root"], ["root", "upper", "lower", "leaf"], ["upper", "leaf", "root", "lower"],
    ["lower", "stranger", "leaf", "upper"],
  ])
  func `P-SEC-2 Certificates are put in chain order, whatever order the file has, and strangers left out`(
    _ order: [String]
  ) throws {
    try bench.makeChain()
    try bench.make("stranger")
    try bench.export(order)
    #expect(try bench.identity().chain.map(\.der) == bench.chain("leaf", "lower", "upper"))
  }

  @Test func `a chain with a gap ends there, and a certificate of its own is its whole chain`() throws {
    try bench.makeChain()
    try bench.export(["leaf", "upper", "root"])
    #expect(try bench.identity().chain.map(\.der) == bench.chain("leaf"))
    try bench.make("alone", extensions: CertificateFolder.leaf)
    try bench.export(["alone"], key: "alone")
    #expect(try bench.identity().chain.map(\.der) == bench.chain("alone"))
  }

  @Test func `an identity has the same number whenever it is read, and another one another`() throws {
    try bench.makeChain()
    try bench.export(["leaf", "lower"])
    let identity = try bench.identity()
    let again = try HeldIdentity(privateKey: identity.privateKey, chain: identity.chain)
    #expect(again.id == identity.id)
    #expect(again.shown == identity.shown)
    try bench.make("other", by: "lower", extensions: CertificateFolder.leaf)
    try bench.export(["other"], key: "other")
    #expect(try bench.identity().id != identity.id)
  }

  @Test(arguments: ["", "-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1", "-keypbe NONE -certpbe NONE"])
  func `files as other programs encrypt them are read`(_ options: String) throws {
    try bench.makeChain()
    try bench.export(["leaf"], options: options)
    #expect(try bench.identity().chain.map(\.der) == bench.chain("leaf"))
  }

  @Test func `a file under an empty password is read`() throws {
    try bench.makeChain()
    try bench.run("openssl pkcs12 -export -in leaf.pem -inkey leaf.key -passout pass: -out identity.p12")
    #expect(try bench.identity(password: "").chain.count == 1)
    #expect(throws: IdentityError.wrongPassword) { try bench.identity(password: " ") }
  }

  @Test func `a wrong password is told as that, and is in no error`() throws {
    try bench.makeChain()
    try bench.export(["leaf"])
    for password in ["", "x", CertificateFolder.password + " ", "Jager & “Söhne” 100 %"] {
      #expect(throws: IdentityError.wrongPassword) { try bench.identity(password: password) }
    }
    #expect("\(IdentityError.wrongPassword)".contains("type it again"))
  }

  @Test func `what is no such file, or cut or damaged, is refused and never taken for another identity`() throws {
    try bench.makeChain()
    try bench.export(["leaf", "lower"])
    let (whole, right) = (bench.bytes(of: "identity.p12"), try bench.identity().shown)
    func error(of file: [UInt8]) -> IdentityError? {
      do throws(IdentityError) {
        // A file may differ in places that nothing reads.
        #expect(try IdentityFile.identity(from: file, password: CertificateFolder.password).shown == right)
        return nil
      } catch {
        return error
      }
    }
    #expect(error(of: []) == .notAnIdentityFile)
    #expect(error(of: bench.bytes(of: "leaf.pem")) == .notAnIdentityFile)
    #expect(error(of: try bench.certificate("leaf").der) == .notAnIdentityFile)
    for count in stride(from: 0, to: whole.count, by: 13) {
      #expect(error(of: Array(whole.prefix(count))) == .notAnIdentityFile)
    }
    for place in stride(from: 0, to: whole.count, by: 3) {
      var bytes = whole
      bytes[place] ^= 0x10
      _ = error(of: bytes)
    }
  }

  @Test func `a file without a key, without a certificate, or with ones that do not fit is refused`() throws {
    try bench.makeChain()
    try bench.export(["leaf"], key: nil)
    #expect(throws: IdentityError.noPrivateKey) { try bench.identity() }
    try bench.run(
      """
      openssl pkcs12 -export -nocerts -inkey leaf.key -passout "pass:$password" -out identity.p12
      """)
    #expect(throws: IdentityError.noCertificate) { try bench.identity() }
    // The command itself refuses to pair a key with another's certificate.
    try bench.writeMismatch(key: "lower", certificate: "leaf")
    #expect(throws: IdentityError.keyDoesNotFit) { try bench.identity() }
    let identity = try {
      try bench.export(["leaf"]); return try bench.identity()
    }()
    #expect(throws: IdentityError.keyDoesNotFit) {
      try HeldIdentity(privateKey: identity.privateKey, chain: [bench.certificate("lower")])
    }
    #expect(throws: IdentityError.noCertificate) { try HeldIdentity(privateKey: identity.privateKey, chain: []) }
    #expect(throws: IdentityError.notAPrivateKey) { try HeldIdentity(privateKey: [1], chain: identity.chain) }
  }

  @Test func `old ciphers are told with the way to convert, which works`() throws {
    try bench.makeChain()
    try bench.export(["leaf", "lower"], options: "-legacy")
    let error = #expect(throws: IdentityError.self) { try bench.identity() }
    guard case .oldCipher(let name) = error else { throw CertificateFolder.Failure(description: "\(error as Any)") }
    #expect(name == "pbeWithSHA1And40BitRC2-CBC")
    let sentence = "\(IdentityError.oldCipher(name))"
    let commands = try #require(sentence.split(separator: "convert it: ").last)
      .replacing("-nodes", with: #"-nodes -passin "pass:$password""#)
      .replacing("-export", with: #"-export -passout "pass:$password""#)
    try bench.run("mv identity.p12 old.p12\n\(commands)\n[ ! -e all.pem ]\nmv new.p12 identity.p12")
    #expect(try bench.identity().chain.count == 2)
  }

  @Test func `a file that no password protects is refused`() throws {
    try bench.makeChain()
    try bench.export(["leaf"], options: "-nomac")
    #expect(throws: IdentityError.noPasswordCheck) { try bench.identity() }
  }

  @Test func `a file that asks for endless hashing is refused before it is done`() throws {
    try bench.makeChain()
    try bench.export(["leaf"], options: "-iter \(0x010203)")
    // The iterations of the check itself stand last, and outside of the checked part.
    var bytes = bench.bytes(of: "identity.p12")
    let place = try #require((0..<bytes.count - 4).last { Array(bytes[$0..<$0 + 5]) == [2, 3, 1, 2, 3] })
    bytes[place + 2] = 0x7F
    #expect(throws: IdentityError.tooSlow(iterationsMax: IdentityFile.iterationsMax)) {
      try IdentityFile.identity(from: bytes, password: CertificateFolder.password)
    }
    // The iterations of the check, the certificates and the key add up; each alone is within the limit.
    try bench.export(["leaf"], options: "-iter \(IdentityFile.iterationsMax / 3 + 1)")
    #expect(throws: IdentityError.tooSlow(iterationsMax: IdentityFile.iterationsMax)) { try bench.identity() }
  }

  @Test func `what is too large is refused with its limit`() throws {
    try bench.makeChain()
    #expect(throws: IdentityError.fileTooLong(bytes: IdentityFile.bytesMax + 1, bytesMax: IdentityFile.bytesMax)) {
      try IdentityFile.identity(from: [UInt8](repeating: 0x30, count: IdentityFile.bytesMax + 1), password: "")
    }
    let names = (0..<300).map { "DNS:host\($0).example" }.joined(separator: ",")
    try bench.make("long", by: "lower", extensions: "subjectAltName=\(names)")
    try bench.export(["long"], key: "long")
    let error = #expect(throws: IdentityError.self) { try bench.identity() }
    guard case .certificateTooLong = error else { throw CertificateFolder.Failure(description: "\(error as Any)") }

    var last = "root"
    let issuers = (0..<Limits.chainCertificatesMax).map { "issuer\($0)" }
    for name in issuers {
      try bench.make(name, by: last)
      last = name
    }
    try bench.make("deep", by: last, extensions: CertificateFolder.leaf)
    try bench.export(["deep"] + issuers, key: "deep")
    #expect(throws: IdentityError.tooManyCertificates(count: Limits.chainCertificatesMax + 1)) { try bench.identity() }
    try bench.export(["deep"] + issuers.dropFirst(), key: "deep")
    #expect(try bench.identity().chain.count == Limits.chainCertificatesMax)
  }

  @Test(arguments: ["RSA -pkeyopt rsa_keygen_bits:1024", "EC -pkeyopt ec_paramgen_curve:P-521", "ED448"])
  func `keys of other kinds are refused by name`(_ kind: String) throws {
    try bench.make("other", kind: kind)
    try bench.export(["other"], key: "other")
    let error = #expect(throws: IdentityError.self) { try bench.identity() }
    guard case .unsupportedKey = error else { throw CertificateFolder.Failure(description: "\(error as Any)") }
  }
}

extension CertificateFolder {
  /// `identity.p12` with a key and a certificate that is not its own, which the command refuses to make.
  fileprivate func writeMismatch(key: String, certificate: String) throws {
    let source = bytes(of: "\(key).key")
    let input = BIO_new_mem_buf(source, CInt(source.count))
    defer { BIO_free(input) }
    let key = PEM_read_bio_PrivateKey(input, nil, nil, nil)
    defer { EVP_PKEY_free(key) }
    let der = try self.certificate(certificate).der
    let x509 = der.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_X509(nil, &cursor, bytes.count)
    }
    defer { X509_free(x509) }
    let issuers = COpenSSL_sk_X509_new()
    defer { COpenSSL_sk_X509_free(issuers) }
    _ = COpenSSL_sk_X509_push(issuers, x509)
    let file = PKCS12_create(Self.password, nil, key, nil, issuers, 0, 0, 0, 0, 0)
    defer { PKCS12_free(file) }
    var encoded = [UInt8](repeating: 0, count: Int(i2d_PKCS12(file, nil)))
    encoded.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      i2d_PKCS12(file, &cursor)
    }
    try Data(encoded).write(to: URL(filePath: "\(path)/identity.p12"))
  }
}
