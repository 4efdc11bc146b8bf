internal import Web

/// Content that does not change while this process lives, plain and compressed.
struct Asset: Sendable {
  let bytes: [UInt8]
  fileprivate let compressed: [UInt8]
  let type: String
  let tag: EntityTag

  init(_ bytes: [UInt8], type: String) {
    self.bytes = bytes
    self.type = type
    compressed = Compression.isWorthwhile(bytes.count, type) ? Gzip.compressed(bytes, .best) : []
    tag = .text(Fingerprint.of(bytes))
  }
}

/// Compression of responses: it is used where the client accepts it, and it pays.
enum Compression {
  /// A smaller body fits in one packet anyway.
  static let bytesMin = 1_400
  /// Limit for a body that is compressed for one request, on the loop, while others wait.
  static let bytesMax = 256 << 10

  private static let types: Set<String> = [
    "application/json", "application/manifest+json", "application/problem+json", "image/svg+xml", "text/css",
    "text/html", "text/javascript", "text/plain",
  ]

  static func isWorthwhile(_ count: Int, _ type: String) -> Bool {
    count >= bytesMin && types.contains(MediaRange.essence(type))
  }

  /// Whether an `Accept-Encoding` header accepts gzip.
  static func isAccepted(by header: String?) -> Bool {
    guard let header else { return false }
    let weights = header.split(separator: ",").map { coding in
      let parts = coding.filter { $0 != " " && $0 != "\t" }.lowercased().split(separator: ";")
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
      return (name: parts.first ?? "", isTaken: weight ?? 1 > 0)
    }
    let named = weights.first { $0.name == "gzip" || $0.name == "x-gzip" }
    return (named ?? weights.first { $0.name == "*" })?.isTaken ?? false
  }
}

extension Reply {
  /// Whether it is compressed for clients that accept that: reads only, since a change's result may hold a secret.
  var isCompressed: Bool {
    guard status == 200, let content, Compression.isWorthwhile(content.bytes.count, content.type) else { return false }
    if case .asset = body { return true }
    return content.bytes.count <= Compression.bytesMax
  }

  /// The compressed body.
  var compressed: [UInt8] {
    if case .asset(let asset) = body { return asset.compressed }
    return Gzip.compressed(content?.bytes ?? [], .fast)
  }
}
