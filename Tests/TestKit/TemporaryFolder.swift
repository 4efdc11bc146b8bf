internal import FoundationEssentials
internal import Glibc

/// A folder of a test's own, which is removed with this object.
public final class TemporaryFolder: Sendable {
  public let path: String

  public enum Place {
    case anywhere
    /// A folder in memory, if the system has such a place: for tests that sync often and measure no disk.
    case memory
    /// A folder on a file system that outlasts a restart of the system.
    case disk

    fileprivate var path: String {
      switch self {
      case .memory where access("/dev/shm", W_OK) == 0: "/dev/shm"
      case .disk: "/var/tmp"
      case .anywhere, .memory: FileManager.default.temporaryDirectory.path
      }
    }
  }

  public init(in place: Place = .anywhere) {
    var template = Array("\(place.path)/vicinity-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("a temporary folder cannot be made: errno \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  public func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

  /// Empty where there is no such file.
  public func bytes(of name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { [UInt8]($0) } ?? []
  }

  public func text(of name: String) -> String { String(decoding: bytes(of: name), as: UTF8.self) }

  /// Keeps the mode of an existing file, and creates others as a key file is. Returns its path.
  @discardableResult
  public func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let path = "\(path)/\(name)"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { close(file) }
    let bytes = Array(bytes)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
    return path
  }

  public func mode(of name: String) -> UInt32 {
    var status = stat()
    return lstat("\(path)/\(name)", &status) == 0 ? status.st_mode & 0o7777 : .max
  }
}
