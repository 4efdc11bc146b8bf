import Testing
import Wire

@Suite struct IdentifierTests {
  @Test("P-ID-1 A display name has 1 to 63 bytes of UTF-8, and a refusal says which limit was broken")
  func displayName() throws {
    #expect(try DisplayName("a").text == "a")
    #expect(try DisplayName(String(repeating: "é", count: 31) + "a").text.utf8.count == 63)
    #expect(broken { _ = try DisplayName("") } == .displayNameEmpty)
    #expect(broken { _ = try DisplayName(String(repeating: "é", count: 32)) } == .displayNameTooLong(bytes: 64))
    for blank in [" ", "\t \n", "\u{a0}\u{3000}"] {
      #expect(broken { _ = try DisplayName(blank) } == .displayNameBlank)
      let body = [UInt8(blank.utf8.count)] + Array(blank.utf8)
      #expect(
        broken {
          var reader = Reader(body.span.bytes)
          _ = try DisplayName(from: &reader)
        } == .displayNameBlank)
    }
    #expect(try DisplayName(" a ").text == " a ")
    let sentence = WireError(.displayNameTooLong(bytes: 64)).description
    #expect(sentence == "The display name has 64 bytes of UTF-8; at most 63 are allowed, so shorten it.")
    let invalid: [UInt8] = [2, 0xc3, 0x28]
    #expect(
      broken {
        var reader = Reader(invalid.span.bytes)
        _ = try DisplayName(from: &reader)
      } == .invalidUTF8(field: "display name"))
  }

  @Test("A content type is a type, a subtype, and what else its sender says of it, in at most 127 bytes of ASCII")
  func contentType() throws {
    for text in [
      "a/b", "text/plain", "text/plain; charset=utf-8", "image/svg+xml", "application/vnd.a.b-1+json ;v=\"2\"",
      "text/plain;", "TEXT/x!#$%&'*+-.^_`|~", "a/" + String(repeating: "b", count: 125),
    ] { #expect(try ContentType(text).text == text) }
    for text in ["", ";", "/", "a", "a/", "/b", "a/b/c", " a/b", "a /b", "a/b c", "a/b, c/d", "a; x=/b"] {
      #expect(broken { _ = try ContentType(text) } == .contentTypeForm, "\(text)")
    }
    for (text, byte) in [("a/b\r\n", 13), ("a/é", 0xC3), ("a/b;\u{7f}", 0x7F), ("a/b;\t", 9)] as [(String, UInt8)] {
      #expect(broken { _ = try ContentType(text) } == .contentTypeCharacter(byte: byte))
    }
    let long = "a/" + String(repeating: "b", count: 126)
    #expect(broken { _ = try ContentType(long) } == .contentTypeTooLong(bytes: 128))
    for rule in [WireError.Rule.contentTypeForm, .contentTypeCharacter(byte: 13), .contentTypeTooLong(bytes: 128)] {
      #expect(WireError(rule).description.hasPrefix("The content type "))
    }
  }

  @Test("P-ID-2 Names that look alike but differ in bytes are different, and an identifier is not its name")
  func namesAreBytes() throws {
    let composed = try DisplayName("\u{e9}")
    let decomposed = try DisplayName("e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(Sample.peer != Sample.other)
  }

  @Test("P-ID-3 An identifier becomes a text and the same identifier again")
  func identifierText() throws {
    let ids = [ID128(high: 0, low: 0), ID128(high: .max, low: .max), Sample.peer.raw, ID128(high: 1, low: 1 << 63)]
    for raw in ids {
      let id = PeerID(raw)
      #expect(id.text.utf8.count == 26)
      #expect(try PeerID(text: id.text) == id)
      #expect("\(id)" == id.text)
    }
    #expect(PeerID(ids[0]).text == "aaaaaaaaaaaaaaaaaaaaaaaaaa")
    #expect(PeerID(ids[1]).text == "77777777777777777777777774")
    #expect(Sample.peer.text == "kbiveu2ukvlfowczljnvyxk6l4")
  }

  @Test(
    "P-ID-3 A text that no identifier gives is refused",
    arguments: [
      "", "aaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "AAAAAAAAAAAAAAAAAAAAAAAAAA",
      "aaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaac", "aaaaaaaaaaaa1aaaaaaaaaaaaa",
      "éaaaaaaaaaaaaaaaaaaaaaaaa",
    ])
  func identifierTextRefused(_ text: String) {
    #expect(broken { _ = try GroupID(text: text) } == .identifierNotBase32(text))
  }

  @Test("A peer ID and a host ID are bound to a key by different labels")
  func preimages() {
    let key = Sample.key
    #expect(PeerID.preimage(of: key) == Array("vicinity peer v1".utf8) + [0] + key.bytes)
    #expect(HostID.preimage(of: key) == Array("vicinity host v1".utf8) + [0] + key.bytes)
    #expect(PeerID(digest: Sample.digest).raw == Sample.id(0x80))
    #expect(HostID(digest: Sample.digest).raw == Sample.id(0x80))
  }

  @Test("Signed bytes name their use, the keys and the incarnation")
  func signedBytes() {
    let statement = Carrier.signedBytes(peer: Sample.key, host: Sample.bo.peer, incarnation: Incarnation(258))
    #expect(
      statement
        == Array("vicinity carrier v1".utf8) + [0] + Sample.key.bytes + Sample.bo.peer.bytes + [0, 0, 0, 0, 0, 0, 1, 2])
    let introduction = Sample.introduction
    let unsigned = Raw.part(introduction).dropLast(64)
    #expect(introduction.signedBytes == Array("vicinity introduction v1".utf8) + [0] + unsigned)
  }

  @Test("Keys, digests and signatures take their size and no other, and keep the order of their bytes")
  func fixedBytes() throws {
    #expect(Sample.key.bytes == Array(0..<32))
    #expect(Sample.signature.bytes == Array(0x40..<0x80))
    #expect(Sample.key < (try PublicKey(bytes: Array(1..<33))))
    #expect(Sample.digest.description.hasPrefix("80818283"))
    #expect(broken { _ = try PublicKey(bytes: []) } == .wrongLength(field: "public key", value: 0, expected: 32))
    #expect(
      broken { _ = try Signature(bytes: Array(0..<65)) } == .wrongLength(field: "signature", value: 65, expected: 64))
  }

  @Test("Identifiers and incarnations have the order of their bytes and numbers")
  func order() {
    #expect(PeerID(ID128(high: 0, low: .max)) < PeerID(ID128(high: 1, low: 0)))
    let old = EndpointIncarnation(host: Incarnation(1), count: 9)
    #expect(old < EndpointIncarnation(host: Incarnation(2), count: 0))
    #expect(old < EndpointIncarnation(host: Incarnation(1), count: 10))
  }

  @Test(
    "P-ADV-1 A service type of RFC 6335 is taken", arguments: ["a", "vic-chat", "1a", "a-1-b-2", "abcdefghijklmno"])
  func serviceType(_ text: String) throws {
    #expect(try ServiceType(text).text == text)
  }

  @Test(
    "P-ADV-1 Any other service type is refused by the rule that it breaks",
    arguments: [
      ("", .serviceTypeEmpty),
      ("abcdefghijklmnop", .serviceTypeTooLong(bytes: 16)),
      ("Chat", .serviceTypeCharacter(byte: 0x43)),
      ("a_b", .serviceTypeCharacter(byte: 0x5f)),
      ("é", .serviceTypeCharacter(byte: 0xc3)),
      ("123", .serviceTypeWithoutLetter),
      ("-a", .serviceTypeHyphen),
      ("a-", .serviceTypeHyphen),
      ("a--b", .serviceTypeHyphen),
    ] as [(String, WireError.Rule)])
  func serviceTypeRefused(_ text: String, _ rule: WireError.Rule) {
    #expect(broken { _ = try ServiceType(text) } == rule)
    let raw = Raw.count(text.utf8.count) + Array(text.utf8)
    #expect(broken { _ = try Browse(decoding: raw.span.bytes) } != nil)
  }

  @Test("P-ADV-2 Discovery info is held to what a TXT record can carry")
  func discoveryInfo() throws {
    let info = try DiscoveryInfo(["b": "2", "a": "", "B": "ü"])
    #expect(info.pairs.map(\.key) == ["B", "a", "b"])
    #expect(info["b"] == "2")
    #expect(info["c"] == nil)
    #expect(info.byteCount == 5 + 3 + 4)
    #expect(broken { _ = try DiscoveryInfo(["": "x"]) } == .discoveryKeyEmpty)
    #expect(broken { _ = try DiscoveryInfo(["a=b": "x"]) } == .discoveryKeyCharacter(key: "a=b", byte: 0x3d))
    #expect(broken { _ = try DiscoveryInfo(["\u{7f}": "x"]) } == .discoveryKeyCharacter(key: "\u{7f}", byte: 0x7f))
    #expect(broken { _ = try DiscoveryInfo(["é": "x"]) } == .discoveryKeyCharacter(key: "é", byte: 0xc3))
    #expect(broken { _ = try DiscoveryInfo(["a": text(253)]) } == nil)
    #expect(broken { _ = try DiscoveryInfo(["a": text(254)]) } == .discoveryPairTooLong(key: "a", bytes: 256))
    let many = Dictionary(uniqueKeysWithValues: (0..<65).map { ("k\($0)", "") })
    #expect(broken { _ = try DiscoveryInfo(many) } == .discoveryPairsOverLimit(count: 65))
    let full = ["a": text(253), "b": text(253), "c": text(253), "d": text(253)]
    #expect(try DiscoveryInfo(full).byteCount == Limits.discoveryInfoBytesMax)
    #expect(broken { _ = try DiscoveryInfo(full.merging(["e": ""]) { $1 }) } == .discoveryInfoTooLong(bytes: 1_027))
  }

  @Test("P-ADV-2 P-HAB-3 Discovery info over 400 bytes works, with a warning")
  func discoveryWarning() throws {
    #expect(try DiscoveryInfo(["a": text(197), "b": text(197)]).warning == nil)
    let warned = try DiscoveryInfo(["a": text(198), "b": text(197)])
    #expect(warned.warning?.hasPrefix("The discovery info has 401 bytes") == true)
  }

  @Test("P-ADV-2 Discovery info that is out of order or names a key twice is refused, and changes are by bytes")
  func discoveryOrder() throws {
    for second: UInt8 in [0x61, 0x62] {
      let bytes: [UInt8] = [2, 1, 0x62, 0, 1, second, 0]
      #expect(
        broken {
          var reader = Reader(bytes.span.bytes)
          _ = try DiscoveryInfo(from: &reader)
        } == .notAscending(field: "discovery info"))
    }
    #expect(try DiscoveryInfo(["a": "\u{e9}"]) != DiscoveryInfo(["a": "e\u{301}"]))
    #expect(try DiscoveryInfo(["a": "1"]) == DiscoveryInfo(["a": "1"]))
  }

  private func text(_ count: Int) -> String { String(repeating: "x", count: count) }
}
