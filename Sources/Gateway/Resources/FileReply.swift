internal import Reactor
internal import Web

/// A peer's file as a response: whole or in part, and never as anything that a browser would run.
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

  func send(_ call: Call, _ exchange: Exchange, in core: Core) throws {
    let opened = try UploadFile.open(path)
    let size = opened.size
    var response = Response(200)
    let content = ForeignContent(type, named: name)
    response.headers.append("Content-Type", content.type)
    for field in content.headers { response.headers.append(field.name, field.value) }
    response.headers.append("Accept-Ranges", "bytes")
    response.headers.append("ETag", tag)
    if let digest { response.headers.append("Repr-Digest", digest.header) }
    if EntityTag.match(call.headers["If-None-Match"], tag, by: .weak) {
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

  /// The range to send: the whole file for several ranges, or one of another state. Nil where there are no such bytes.
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
