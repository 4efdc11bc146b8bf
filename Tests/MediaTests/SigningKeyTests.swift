import COpenSSL
import Media
import Testing
import Wire

@Suite struct SigningKeyTests {
  @Test func `a key is made, kept as its seed, and is the same key again`() throws {
    let key = SigningKey()
    let again = try #require(SigningKey(seed: key.seed))
    #expect(again.publicKey == key.publicKey)
    #expect(again.sign([1, 2, 3]) == key.sign([1, 2, 3]))
    #expect(SigningKey().publicKey != key.publicKey)
  }

  @Test(arguments: [0, 31, 33, 64])
  func `a seed of another length is no key`(_ count: Int) {
    #expect(SigningKey(seed: [UInt8](repeating: 7, count: count)) == nil)
  }

  @Test(arguments: RFC8032.vectors)
  func `the vectors of RFC 8032 hold`(_ vector: RFC8032) throws {
    let key = try #require(SigningKey(seed: vector.seed))
    let crypto = OpenSSLCrypto(keys: [key])
    #expect(key.publicKey.description == vector.publicKey)
    let signature = crypto.sign(vector.message, with: key.publicKey)
    #expect(signature.description == vector.signature)
    #expect(crypto.verify(signature, of: vector.message, by: key.publicKey))
  }

  @Test func `a signature holds for its message, its key and itself alone`() {
    let (key, other) = (SigningKey(), SigningKey())
    let crypto = OpenSSLCrypto(keys: [key])
    let signature = crypto.sign([1, 2, 3], with: key.publicKey)
    var forged = signature
    forged.s.d ^= 1
    #expect(!crypto.verify(signature, of: [1, 2], by: key.publicKey))
    #expect(!crypto.verify(signature, of: [1, 2, 3], by: other.publicKey))
    #expect(!crypto.verify(forged, of: [1, 2, 3], by: key.publicKey))
  }

  @Test func `a signature is held against the key of a chain's leaf`() throws {
    let key = SigningKey()
    // Only want of memory would leave none.
    let raw = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, key.seed, key.seed.count)!
    defer { EVP_PKEY_free(raw) }
    let certificate = Foreigner.certificate(of: raw)
    defer { X509_free(certificate) }
    var encoded = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
    encoded.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      i2d_X509(certificate, &cursor)
    }

    let crypto = OpenSSLCrypto(keys: [])
    let signature = key.sign([1, 2, 3]).bytes
    #expect(crypto.verify(signature, of: [1, 2, 3], byLeafOf: [encoded]))
    #expect(!crypto.verify(signature, of: [1, 2], byLeafOf: [encoded]))
    #expect(!crypto.verify([], of: [1, 2, 3], byLeafOf: [encoded]))
    #expect(!crypto.verify(signature, of: [1, 2, 3], byLeafOf: []))
    #expect(!crypto.verify(signature, of: [1, 2, 3], byLeafOf: [[UInt8](encoded.dropLast())]))
  }

  @Test func `the hash is SHA-256`() {
    let crypto = OpenSSLCrypto(keys: [])
    #expect(
      crypto.hash([UInt8]("abc".utf8)).description
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      crypto.hash([UInt8]()).description
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test func `random bytes are as many as asked for, and others each time`() {
    #expect(OpenSSLCrypto.randomBytes(32).count == 32)
    #expect(OpenSSLCrypto.randomBytes(32) != OpenSSLCrypto.randomBytes(32))
  }
}

struct RFC8032: Sendable {
  let seed: [UInt8]
  let publicKey: String
  let message: [UInt8]
  let signature: String

  /// Tests 1 and 2 of section 7.1.
  static let vectors = [
    RFC8032(
      seed: bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: [],
      signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    RFC8032(
      seed: bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"),
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: [0x72],
      signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
  ]

  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = Array(hexadecimal)
    // The literals here are hexadecimal.
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
  }
}
