internal import Reactor
internal import Web

/// A file of a peer as an answer: whole or in part, and never as anything that a browser would run.
struct FileReply {
  private let path: String
  private let name: String
  private let type: String
  private let tag: String
  private let digest: ContentDigest?

  init(_ path: String, name: String, type: String, tag: String, _ digest: ContentDigest?) {
    self.digest = digest
    self.path = path
    self.name = name
    self.type = type
    self.tag = tag
  }

  /// Types that a browser shows without running anything in them.
  private static let shown: Set<String> = [
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg", "audio/ogg", "audio/wav",
    "audio/mp4", "video/mp4", "video/webm", "text/plain", "application/pdf",
  ]

  func send(_ call: Call, _ exchange: Exchange, in core: Core) throws {
    let opened = try Spool.open(path)
    let size = opened.size
    var response = Response(200)
    let essence = MediaRange.essence(type)
    let isShown = Self.shown.contains(essence)
    response.headers.append("Content-Type", isShown ? essence : "application/octet-stream")
    response.headers.append(
      "Content-Disposition", "\(isShown ? "inline" : "attachment"); filename*=UTF-8''\(Percent.encode(name))")
    response.headers.append("Content-Security-Policy", "default-src 'none'; sandbox")
    response.headers.append("Cross-Origin-Resource-Policy", "same-origin")
    response.headers.append("Cache-Control", "private, no-cache")
    response.headers.append("Accept-Ranges", "bytes")
    response.headers.append("ETag", tag)
    if let digest { response.headers.append("Repr-Digest", digest.header) }
    if EntityTag.match(call.headers["If-None-Match"], tag) {
      response.status = 304
      return core.respond(response, to: exchange)
    }
    guard let part = range(call, size) else {
      var problem = Problem(.rangeNotSatisfiable, "the content has \(size) bytes", field: "Range", limit: size)
      problem.headers = [.init(name: "Content-Range", value: "bytes */\(size)")]
      throw problem
    }
    if part != 0..<size {
      response.status = 206
      response.headers.append("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)")
    }
    response.body = .file(opened.part(part))
    core.respond(response, to: exchange)
  }

  /// One range; of several, or one of another state, the whole is the answer. Nil where there are no such bytes.
  private func range(_ call: Call, _ size: Int) -> Range<Int>? {
    guard let header = call.headers["Range"], header.hasPrefix("bytes="), !header.contains(",") else { return 0..<size }
    if let condition = call.headers["If-Range"], condition != tag { return 0..<size }
    let parts = header.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return 0..<size }
    if parts[0].isEmpty {
      guard let suffix = Int(parts[1]), suffix >= 0 else { return 0..<size }
      return suffix == 0 || size == 0 ? nil : max(0, size - suffix)..<size
    }
    guard let first = Int(parts[0]), first >= 0 else { return 0..<size }
    guard first < size else { return nil }
    guard !parts[1].isEmpty else { return first..<size }
    guard let last = Int(parts[1]), last >= first else { return 0..<size }
    return first..<(min(last, size - 1) + 1)
  }
}
