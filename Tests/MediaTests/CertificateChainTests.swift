import FoundationEssentials
import Glibc
import Media
import Testing
import Wire

@Suite struct CertificateChainTests {
  private let bench = CertificateFolder()
  // A time after everything that a slow machine makes meanwhile.
  private let now = time(nil) + 3_600

  private func evaluate(_ chain: [[UInt8]], _ anchors: String..., at moment: Int? = nil) throws -> TrustVerdict {
    CertificateChain.evaluate(chain, anchors: try anchors.map { try bench.certificate($0) }, at: moment ?? now)
  }

  @Test(arguments: CertificateFolder.Kind.allCases)
  func `P-SEC-4 A chain that leads to an anchor is trusted by it, and by no other`(_ kind: CertificateFolder.Kind)
    throws
  {
    try bench.makeChain(leafKind: kind.rawValue)
    try bench.make("stranger")
    let chain = try bench.chain("leaf", "lower", "upper")
    for anchor in ["root", "upper", "lower", "leaf"] {
      #expect(try evaluate(chain, "stranger", anchor) == .trusted(by: bench.certificate(anchor)))
    }
    #expect(try evaluate(chain, "stranger") == unknown("upper", by: "root"))
    #expect(try evaluate(chain) == unknown("upper", by: "root"))
    #expect(try evaluate(Array(chain.prefix(2)), "root") == unknown("lower", by: "upper"))
    #expect(try evaluate(chain + bench.chain("root")) == unknown("root", by: "root"))
    // Intermediate certificates may come in any order, and others do no harm.
    #expect(
      try evaluate(bench.chain("leaf", "stranger", "upper", "lower"), "root") == .trusted(by: bench.certificate("root"))
    )
  }

  private func unknown(_ subject: String, by issuer: String) -> TrustVerdict {
    .distrusted(.issuerUnknown(subject: "CN = \(subject)", issuer: "CN = \(issuer)"))
  }

  @Test func `P-SEC-4 No certificate of the chain may be early or late, the anchor neither`() throws {
    let day = 86_400
    try bench.make("root", days: "-days 40")
    try bench.make("upper", by: "root", days: "-days 20")
    try bench.make("leaf", by: "upper", extensions: CertificateFolder.leaf, days: "-days 30")
    let chain = try bench.chain("leaf", "upper")
    let root = try bench.certificate("root")
    #expect(try evaluate(chain, "root", at: now + 19 * day) == .trusted(by: root))
    let upper = try bench.certificate("upper").summary
    #expect(
      try evaluate(chain, "root", at: now + 21 * day)
        == .distrusted(.expired(subject: "CN = upper", since: upper.validUntil)))
    let leaf = try bench.certificate("leaf").summary
    #expect(
      try evaluate([chain[0]], "upper", at: now - day)
        == .distrusted(.notYetValid(subject: "CN = upper", before: upper.validFrom)))
    #expect(
      try evaluate([chain[0]], "leaf", at: now + 31 * day)
        == .distrusted(.expired(subject: "CN = leaf", since: leaf.validUntil)))
  }

  @Test func `P-SEC-4 A signature that is not the issuer's is found`() throws {
    try bench.makeChain()
    var chain = try bench.chain("leaf", "lower", "upper")
    chain[0][chain[0].count - 3] ^= 1
    #expect(try evaluate(chain, "root") == .distrusted(.badSignature(subject: "CN = leaf")))
    // One of the same name with another key.
    try bench.run("mv lower.pem real.pem; mv lower.key real.key")
    try bench.make("lower", by: "upper")
    let forged = try evaluate(bench.chain("leaf", "lower", "upper"), "root")
    guard case .distrusted(let reason) = forged else { throw CertificateFolder.Failure(description: "\(forged)") }
    #expect(reason == .badSignature(subject: "CN = leaf") || unknown("leaf", by: "lower") == forged)
  }

  @Test func `P-SEC-4 Only an authority issues, with the usage for it, and no deeper than it may`() throws {
    try bench.make("root", extensions: "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=keyCertSign")
    try bench.make("plain", by: "root", extensions: "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature,keyCertSign")
    try bench.make("muted", by: "root", extensions: "basicConstraints=critical,CA:TRUE\nkeyUsage=digitalSignature")
    try bench.make("upper", by: "root")
    for (issuer, reason) in [
      ("plain", Distrust.notAnAuthority(subject: "CN = plain")),
      ("muted", .mayNotSignCertificates(subject: "CN = muted")), ("upper", .pathTooLong(subject: "CN = root")),
    ] {
      try bench.make("leaf", by: issuer, extensions: CertificateFolder.leaf)
      let verdict = try evaluate(bench.chain("leaf", issuer), "root")
      #expect(verdict == .distrusted(reason))
    }
  }

  @Test func `P-SEC-4 A leaf whose key may not sign proves nobody`() throws {
    try bench.make("root")
    try bench.make("leaf", by: "root", extensions: "keyUsage=keyEncipherment")
    #expect(try evaluate(bench.chain("leaf"), "root") == .distrusted(.mayNotSign(subject: "CN = leaf")))
    try bench.make("leaf", by: "root", extensions: "subjectAltName=DNS:leaf")
    #expect(try evaluate(bench.chain("leaf"), "root") == .trusted(by: bench.certificate("root")))
  }

  @Test func `weak keys and weak hashes are not trusted`() throws {
    try bench.make("root")
    try bench.make("leaf", by: "root", kind: "RSA -pkeyopt rsa_keygen_bits:1024", extensions: CertificateFolder.leaf)
    #expect(try evaluate(bench.chain("leaf"), "root") == .distrusted(.tooWeak(subject: "CN = leaf")))
    try bench.make("other", by: "root", extensions: CertificateFolder.leaf, hash: "-sha1")
    #expect(try evaluate(bench.chain("other"), "root") == .distrusted(.tooWeak(subject: "CN = other")))
  }

  @Test func `an unknown critical extension is not passed over`() throws {
    try bench.make("root")
    try bench.make("leaf", by: "root", extensions: "1.2.3.4=critical,DER:0500")
    guard case .distrusted(.other(_, let words)) = try evaluate(bench.chain("leaf"), "root") else {
      throw CertificateFolder.Failure(description: "it was passed over")
    }
    #expect(words.contains("critical extension"))
  }

  @Test func `what is no chain is told as that`() throws {
    try bench.make("root")
    let root = try bench.certificate("root").der
    #expect(try evaluate([], "root") == .distrusted(.noCertificate))
    #expect(
      try evaluate([root, [1, 2]], "root") == .distrusted(.unreadable(position: 2, .notACertificate)))
    #expect(try evaluate([root + [0]], "root") == .distrusted(.unreadable(position: 1, .notACertificate)))
    #expect(
      try evaluate(Array(repeating: root, count: 9), "root") == .distrusted(.tooManyCertificates(count: 9)))
  }

  @Test func `whatever bytes are shown, nothing but a verdict comes of it`() throws {
    try bench.makeChain()
    let chain = try bench.chain("leaf", "lower", "upper")
    for place in chain[1].indices {
      var changed = chain
      changed[1][place] ^= 0x41
      // The chain ends in the anchor, unless the changed one is skipped in favour of nothing: so never.
      guard case .distrusted = try evaluate(changed, "root") else {
        throw CertificateFolder.Failure(description: "byte \(place) may be anything")
      }
    }
  }

  @Test func `anchors come from PEM and from DER`() throws {
    try bench.makeChain()
    let root = try bench.certificate("root")
    #expect(try Certificate.all(in: root.der) == [root])
    try bench.run("echo some words | cat - root.pem leaf.key upper.pem >both.pem")
    #expect(try Certificate.all(in: bench.bytes(of: "both.pem")) == [root, bench.certificate("upper")])
    for name in ["leaf.key", "nothing"] {
      #expect(throws: IdentityError.notACertificate) { try Certificate.all(in: bench.bytes(of: name)) }
    }
    try bench.run("head -c 300 root.pem >cut.pem; cat root.pem cut.pem >half.pem")
    for name in ["cut.pem", "half.pem"] {
      #expect(throws: IdentityError.notACertificate) { try Certificate.all(in: bench.bytes(of: name)) }
    }
    #expect(throws: IdentityError.notACertificate) { try Certificate.all(in: root.der.dropLast()) }
    #expect(throws: IdentityError.notACertificate) { try Certificate.all(in: root.der + [0]) }
  }

  @Test func `a certificate is summed up for people, and shows what it would hide`() throws {
    try bench.make("root", subject: "/O=School/CN=Jörg\u{202E}nnA")
    try bench.make("leaf", by: "root", extensions: CertificateFolder.leaf, subject: "/CN=Ann")
    let (root, leaf) = (try bench.certificate("root").summary, try bench.certificate("leaf").summary)
    #expect(root.subject == #"O = School, CN = Jörg\u{202e}nnA"#)
    #expect(leaf.subject == "CN = Ann")
    #expect(leaf.issuer == root.subject)
    let day = 86_400
    #expect(leaf.validFrom.map { abs($0 - now) < day } == true)
    #expect(leaf.validUntil.map { abs($0 - now - 1_000 * day) < day } == true)
    try bench.run("openssl x509 -in leaf.pem -noout -serial -fingerprint -sha256 >words")
    let words = String(decoding: bench.bytes(of: "words"), as: UTF8.self).lowercased()
    #expect(words.contains("serial=\(leaf.serial)\n"))
    #expect(words.contains("fingerprint=\(leaf.fingerprint)\n"))
    #expect(CertificateSummary.text(ofSecondsSince1970: 1_769_860_805) == "2026-01-31 12:00:05 UTC")
    #expect(CertificateSummary.text(ofSecondsSince1970: nil) == "an unknown date")
  }
}
