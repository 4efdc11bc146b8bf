internal import Engine
internal import Glibc
internal import Media
internal import Reactor
internal import Store
internal import Wire

/// A file being received: hidden beside its place until it is whole.
final class TargetFile: @unchecked Sendable {
  // `@unchecked`: only the disk's thread touches mutable state.

  private let name: String
  private let folder: String
  private let hidden: String
  private let descriptor: Descriptor
  private(set) var end: UInt64 = 0
  /// Whether its hidden name would survive a power cut.
  private var nameIsSynced = false
  /// Its final path, once it is whole.
  private var place: String?
  /// The hash of all bytes until now, which come in order; nil where it is not wanted, or some came before a restart.
  private var hash: RunningHash?

  /// With `hashes`, the digest of the content is known as soon as it is whole.
  init(_ name: String, in folder: String, hashes: Bool = false) throws {
    hash = hashes ? RunningHash() : nil
    self.name = Self.safe(name)
    self.folder = folder
    hidden = "\(absolute(folder))/.vicinity-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    let number = open(hidden, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("make a file in \(folder)", code: errno) }
    descriptor = Descriptor(owning: number)
  }

  /// Reopens one from an earlier run. A power cut may have removed the name of an empty one.
  init(restoring hidden: String, named name: String) throws {
    self.name = name
    self.hidden = hidden
    folder = parent(of: hidden)
    let number = open(hidden, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw SystemError("open \(hidden)", code: errno) }
    descriptor = Descriptor(owning: number)
  }

  /// Whether it has all bytes before the offset. Called before the disk's thread writes to it.
  func resume(from offset: UInt64) -> Bool {
    var status = stat()
    guard fstat(descriptor.number, &status) == 0, UInt64(status.st_size) >= offset else { return false }
    if offset != end { hash = nil }
    end = offset
    return true
  }

  /// As many of these bytes as can be read.
  func read(_ count: Int, from offset: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let base = buffer.baseAddress.map { $0 + filled }
        let moved = pread(descriptor.number, base, count - filled, off_t(offset) + off_t(filled))
        if moved < 0, errno == EINTR { continue }
        if moved <= 0 { break }
        filled += moved
      }
    }
  }

  func row(_ id: ResourceID) -> StoredTransfer {
    StoredTransfer(id: id.rawValue, isIncoming: true, path: hidden, name: name)
  }

  /// Syncs the file and its contents to the disk.
  func sync() throws(SystemError) {
    guard fdatasync(descriptor.number) == 0 else { throw SystemError("write to \(folder)", code: errno) }
    if !nameIsSynced { syncNames() }
    nameIsSynced = true
  }

  func append(_ bytes: RawSpan) throws {
    var written = 0
    while written < bytes.byteCount {
      let moved = bytes.extracting(droppingFirst: written).withUnsafeBytes {
        pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(end) + off_t(written))
      }
      if moved < 0, errno == EINTR { continue }
      guard moved >= 0 else { throw SystemError("write to \(folder)", code: errno) }
      written += moved
    }
    if let hash { bytes.withUnsafeBytes { hash.add($0) } }
    end += UInt64(written)
  }

  /// SHA-256 of the whole content, once; nil where it was not hashed from its first byte on.
  func takeDigest() -> Digest? { hash.take()?.finish() }

  /// Takes its place under the first name that is free, or the one that it had taken when this program was killed.
  func finish() throws -> String {
    // A file that is reported whole survives a power cut.
    try sync()
    _ = fchmod(descriptor.number, 0o644)
    for number in 1...Self.namesMax {
      let path = "\(folder)/\(numbered(number))"
      if link(hidden, path) == 0 || isSame(path) {
        place = path
        syncNames()
        return path
      }
      guard errno == EEXIST else { throw SystemError("name \(path)", code: errno) }
    }
    throw NearbyError(.unavailable, "\(folder) has \(Self.namesMax) files of the name \(name) already")
  }

  private func isSame(_ path: String) -> Bool {
    let code = errno
    defer { errno = code }
    var (status, other) = (stat(), stat())
    return fstat(descriptor.number, &status) == 0 && lstat(path, &other) == 0
      && (status.st_dev, status.st_ino) == (other.st_dev, other.st_ino)
  }

  /// Syncs its names, where this user may read the folder.
  private func syncNames() { try? syncFolder(folder) }

  /// Removes its hidden name, and, unless it is to stay, the final one.
  func drop(keepsPlace: Bool) {
    unlink(hidden)
    if !keepsPlace, let place { unlink(place) }
  }

  private static let namesMax = 10_000

  private func numbered(_ number: Int) -> String {
    if number == 1 { return name }
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name) (\(number))" }
    return "\(name[..<dot]) (\(number))\(name[dot...])"
  }

  /// A safe file name from a stranger's: no path, not hidden, no terminal control, no command-line option.
  static func safe(_ name: String) -> String {
    let last = name.split(whereSeparator: { "/\\".contains($0) }).last ?? ""
    var scalars = last.unicodeScalars.map { scalar in
      let isControl = scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) || hidden.contains(scalar.value)
      return isControl ? "_" : Character(scalar)
    }
    while scalars.first == "." || scalars.first == " " { scalars.removeFirst() }
    if scalars.first == "-" { scalars[0] = "_" }
    var text = String(scalars)
    // Room for a number behind it, in a name of at most 255 bytes.
    while text.utf8.count > 240 { text.removeLast() }
    return text.isEmpty ? "unnamed" : text
  }

  /// Marks that turn the text direction: they make one extension look like another.
  private static let hidden: Set<UInt32> = Set(0x202a...0x202e).union(0x2066...0x2069).union([0x200e, 0x200f])
}
