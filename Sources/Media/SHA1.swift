internal import COpenSSL

/// SHA-1, for the opening handshake of WebSockets alone: it proves nothing there but that a request was read.
package enum SHA1 {
  package static func digest(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
      expect(EVP_Digest(bytes, bytes.count, digest.baseAddress, nil, EVP_sha1(), nil) == 1, "hash")
      count = 20
    }
  }
}
