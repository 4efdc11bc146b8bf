internal import Media
internal import Nearby
internal import Notation

/// The JavaScript client, an npm package: the folder `client` of the site. Its files are served as they are, below a
/// path with the gateway's version, and together as an archive that npm installs.
struct ClientPackage {
  static let folder = "client"
  /// The path of the package below the site, with the version.
  static let place = "\(folder)/\(Gateway.version)"
  static let archiveName = "vicinity-client.tgz"

  struct File {
    /// The path inside of the package.
    let path: String
    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value for `integrity` in an import map or a `script` (W3C Subresource Integrity).
    var integrity: String {
      let hash = RunningHash()
      bytes.withUnsafeBytes { hash.add($0) }
      return "sha256-\(Base64.text(hash.finish().bytes))"
    }
  }

  let files: [File]

  /// Nil if the site has no client.
  init?(site: [(path: String, bytes: [UInt8])]) {
    files = site.filter { $0.path.hasPrefix("\(Self.folder)/") }
      .map { File(path: String($0.path.dropFirst(Self.folder.count + 1)), bytes: $0.bytes) }
      .sorted { $0.path < $1.path }
    if files.isEmpty { return nil }
  }

  /// The modules that a program loads, the first of them first.
  var modules: [File] {
    let modules = files.filter { $0.path.hasSuffix(".js") && !$0.path.contains("/") }
    return modules.filter { $0.path == "vicinity.js" } + modules.filter { $0.path != "vicinity.js" }
  }

  var examples: [File] { files.filter { $0.path.hasPrefix("examples/") && $0.path.hasSuffix(".js") } }
  var types: [File] { files.filter { $0.path.hasSuffix(".d.ts") } }

  /// A tar archive of the files below `package`, as npm makes them; the same of the same files.
  var archive: [UInt8] {
    var bytes: [UInt8] = []
    for file in files {
      bytes += Self.header(of: file)
      bytes += file.bytes
      bytes += [UInt8](repeating: 0, count: (Self.block - file.bytes.count % Self.block) % Self.block)
    }
    return bytes + [UInt8](repeating: 0, count: 2 * Self.block)
  }

  private static let block = 512

  /// A header of POSIX ustar.
  private static func header(of file: File) -> [UInt8] {
    let name = "package/\(file.path)"
    precondition(name.utf8.count <= 100, "the path of \(file.path) is too long for an archive")
    var header = [UInt8](repeating: 0, count: block)
    func put(_ text: String, at place: Int) { header.replaceSubrange(place..<place + text.utf8.count, with: text.utf8) }
    func octal(_ number: Int, digits: Int) -> String {
      let text = String(number, radix: 8)
      return String(repeating: "0", count: digits - text.count) + text
    }
    put(name, at: 0)
    put(octal(0o644, digits: 7), at: 100)
    put(octal(0, digits: 7), at: 108)
    put(octal(0, digits: 7), at: 116)
    put(octal(file.bytes.count, digits: 11), at: 124)
    put(octal(0, digits: 11), at: 136)
    // The checksum is that of a header with spaces in its place.
    put("        ", at: 148)
    put("0", at: 156)
    put("ustar\u{0}00", at: 257)
    put(octal(header.reduce(0) { $0 + Int($1) }, digits: 6) + "\u{0}", at: 148)
    return header
  }
}
