import FoundationEssentials
import Glibc

/// A folder of a test's own, which goes with it.
final class TemporaryFolder {
  let path: String

  init() {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/vicinity-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("a temporary folder cannot be made: errno \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func bytes(of name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { [UInt8]($0) } ?? []
  }

  func text(of name: String) -> String { String(decoding: bytes(of: name), as: UTF8.self) }

  /// Keeps the mode of an existing file, and creates others as a key file is.
  func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { close(file) }
    let bytes = Array(bytes)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
  }

  func mode(of name: String) -> UInt32 {
    var status = stat()
    return lstat("\(path)/\(name)", &status) == 0 ? status.st_mode & 0o7777 : .max
  }
}
