internal import COpenSSL
public import Wire

extension HostID {
  public init(of key: PublicKey) {
    let preimage = Self.preimage(of: key)
    self.init(
      digest: Digest { expect(EVP_Digest(preimage, preimage.count, $0, nil, EVP_sha256(), nil) == 1, "hash") })
  }
}
