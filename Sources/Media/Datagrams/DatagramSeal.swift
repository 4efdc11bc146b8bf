internal import COpenSSL

/// AES-128-GCM for the datagrams of one direction. A nonce is the direction's own, its last eight bytes xored with the
/// datagram's counter, so that none comes twice.
struct DatagramSeal: ~Copyable {
  /// The number of packets that one key may seal (RFC 9001, appendix B.1, for packets of at most 2 KiB).
  static let countMax: UInt64 = 1 << 28

  private let context: OpaquePointer
  private let nonce: [UInt8]

  init(_ direction: DatagramKeys.Direction, opens: Bool) {
    context = expect(EVP_CIPHER_CTX_new(), "make a cipher")
    nonce = direction.nonce
    expect(
      EVP_CipherInit_ex(context, EVP_aes_128_gcm(), nil, direction.key, nil, opens ? 0 : 1) == 1, "begin a cipher")
  }

  deinit {
    EVP_CIPHER_CTX_free(context)
  }

  func seal(
    _ payload: UnsafeRawBufferPointer, header: UnsafeRawBufferPointer, counter: UInt64,
    into out: UnsafeMutableRawBufferPointer
  ) {
    precondition(out.count >= payload.count + DatagramPacket.tagBytes, "there is no room for the sealed datagram")
    let tag = out.baseAddress.map { $0 + payload.count }
    expect(
      begin(header, counter) && run(payload, into: out.baseAddress) && end(at: tag)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(DatagramPacket.tagBytes), tag) == 1,
      "seal a datagram")
  }

  /// Writes the decrypted payload, and returns its size; nil where the tag is wrong.
  func open(
    _ sealed: UnsafeRawBufferPointer, header: UnsafeRawBufferPointer, counter: UInt64,
    into out: UnsafeMutableRawBufferPointer
  ) -> Int? {
    let count = sealed.count - DatagramPacket.tagBytes
    guard count >= 0 else { return nil }
    precondition(out.count >= count, "there is no room for the opened datagram")
    // OpenSSL only reads it.
    let tag = UnsafeMutableRawPointer(mutating: sealed.baseAddress.map { $0 + count })
    let isSet =
      begin(header, counter)
      && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(DatagramPacket.tagBytes), tag) == 1
      && run(UnsafeRawBufferPointer(rebasing: sealed[..<count]), into: out.baseAddress)
    expect(isSet, "open a datagram")
    return end(at: out.baseAddress.map { $0 + count }) ? count : nil
  }

  private func begin(_ header: UnsafeRawBufferPointer, _ counter: UInt64) -> Bool {
    var nonce = nonce
    for place in 0..<8 { nonce[4 + place] ^= UInt8(truncatingIfNeeded: counter >> UInt64(56 - 8 * place)) }
    return EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1 && run(header, into: nil)
  }

  private func run(_ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer?) -> Bool {
    if bytes.isEmpty { return true }
    var count: CInt = 0
    let input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    return EVP_CipherUpdate(context, out?.assumingMemoryBound(to: UInt8.self), &count, input, CInt(bytes.count)) == 1
  }

  /// Writes nothing, since the mode has no blocks to fill. Opening, it fails where the tag is wrong.
  private func end(at place: UnsafeMutableRawPointer?) -> Bool {
    var count: CInt = 0
    let isRight = EVP_CipherFinal_ex(context, place?.assumingMemoryBound(to: UInt8.self), &count) == 1
    if !isRight { ERR_clear_error() }
    return isRight
  }
}
