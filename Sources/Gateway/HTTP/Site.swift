internal import Notation
internal import Reactor
internal import Web

/// The dashboard's files, as they lie in one folder.
///
/// They are read once: what is served is what was there at the start, and no path leads out of it.
final class Site {
  struct File {
    let bytes: [UInt8]
    let type: String
    let tag: String
  }

  private static let types = [
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon", "json": "application/json",
    "webmanifest": "application/manifest+json", "txt": "text/plain; charset=utf-8",
  ]
  static let fileBytesMax = 4 << 20

  private var files: [String: File] = [:]
  /// What their paths begin with.
  private var roots: Set<String> = []

  init(_ folder: String?, _ read: (String) -> [(path: String, bytes: [UInt8])]) {
    guard let folder else { return }
    for (path, bytes) in read(folder) {
      guard let type = path.split(separator: ".").last.flatMap({ Self.types[String($0)] }) else { continue }
      files[path] = File(bytes: bytes, type: type, tag: "\"\(Fingerprint.of(bytes))\"")
      roots.insert(String(path.prefix { $0 != "/" }))
    }
  }

  func file(at path: [String]) -> File? {
    if files.isEmpty { return nil }
    if path.isEmpty { return files["index.html"] }
    return roots.contains(path[0]) ? files[path.joined(separator: "/")] : nil
  }

  func response(_ file: File, to head: Head) -> Response {
    var response = Response(200, .bytes(file.bytes))
    if EntityTag.match(head.headers["If-None-Match"], file.tag) { response = Response(304) }
    response.headers.append("Content-Type", file.type)
    response.headers.append("ETag", file.tag)
    response.headers.append("Cache-Control", "no-cache")
    response.headers.append("X-Content-Type-Options", "nosniff")
    response.headers.append("X-Frame-Options", "DENY")
    response.headers.append("Referrer-Policy", "no-referrer")
    response.headers.append(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' ws: wss:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return response
  }
}

/// A short name for bytes, for entity tags; not against an attacker.
enum Fingerprint {
  static func of(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}
