internal import Notation
internal import Reactor
internal import Web

/// The dashboard's files, from one folder.
///
/// They are read once: only files that were there at the start are served, and no path leads out of the folder.
final class Site {
  private static let types = [
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon", "json": "application/json",
    "webmanifest": "application/manifest+json", "txt": "text/plain; charset=utf-8", "ts": "text/plain; charset=utf-8",
    "md": "text/plain; charset=utf-8",
  ]
  static let fileBytesMax = 4 << 20
  /// The page on which requests are tried.
  static let tryPath = "examples/request.html"
  /// The module that runs the examples of the client.
  static let runPath = "examples/run.js"
  /// The value of the Allow header.
  static let methods = "GET, HEAD, OPTIONS"

  private var files: [String: Asset] = [:]
  /// The first segments of their paths.
  private var roots: Set<String> = []
  /// The JavaScript client, if it is among them.
  let client: ClientPackage?
  private var clientPage: (asset: Asset, policy: String)?

  init(_ folder: String?, _ read: (String) -> [(path: String, bytes: [UInt8])]) {
    let listing = folder.map(read) ?? []
    client = ClientPackage(site: listing.filter { Self.type(of: $0.path) != nil })
    for (path, bytes) in listing {
      guard let type = Self.type(of: path) else { continue }
      files[path] = Asset(bytes, type: type)
      roots.insert(String(path.prefix { $0 != "/" }))
    }
    guard let client else { return }
    for file in client.files {
      files["\(ClientPackage.place)/\(file.path)"] = files["\(ClientPackage.folder)/\(file.path)"]
    }
    files["\(ClientPackage.place)/\(ClientPackage.archiveName)"] = Asset(
      Gzip.compressed(client.archive, .best), type: "application/gzip")
  }

  private static func type(of path: String) -> String? { path.split(separator: ".").last.flatMap { types[String($0)] } }

  var isEmpty: Bool { files.isEmpty }

  var canTry: Bool { files[Self.tryPath] != nil }

  /// Whether its paths have this first segment.
  func owns(_ first: String) -> Bool { roots.contains(first) }

  func file(at path: [String]) -> Asset? {
    if files.isEmpty { return nil }
    if path.isEmpty { return files["index.html"] }
    return roots.contains(path[0]) ? files[path.joined(separator: "/")] : nil
  }

  /// The page of the JavaScript client, made when it is first asked for.
  func clientPage(below base: BasePath) -> Reply? {
    if clientPage == nil, let client {
      let reference = ClientReference(package: client, base: base, canRun: files[Self.runPath] != nil)
      clientPage = (Asset(reference.page), reference.policy)
    }
    return clientPage.map { .page($0.asset, policy: $0.policy) }
  }

  static func reply(_ file: Asset) -> Reply {
    var reply = Reply.kept(file)
    for (name, value) in headers { reply.headers.append(.init(name: name, value: value)) }
    return reply
  }

  private static let headers = [
    ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self' ws: wss:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
  ]
}

/// A short hash of bytes, for entity tags; an attacker can make two of the same.
enum Fingerprint {
  static func of(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}
