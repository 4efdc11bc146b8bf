internal import COpenSSL
public import Wire

public final class RunningHash {
  private let context: OpaquePointer

  public init() {
    openSSLStaysUntilTheEnd
    context = expect(EVP_MD_CTX_new(), "make a hashing context")
    expect(EVP_DigestInit_ex2(context, EVP_sha256(), nil) == 1, "begin to hash")
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  public func add(_ bytes: UnsafeRawBufferPointer) {
    expect(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "hash")
  }

  /// The digest of all added bytes; nothing may be added any more.
  public func finish() -> Digest {
    Digest { expect(EVP_DigestFinal_ex(context, $0, nil) == 1, "hash") }
  }
}
