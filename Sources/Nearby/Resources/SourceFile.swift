internal import Engine
internal import Glibc
internal import Reactor
internal import Store

/// A file that is sent. It has no position: each read says its offset.
final class SourceFile: Sendable {
  let size: UInt64
  let path: String
  /// In nanoseconds.
  private let modified: Int
  private let descriptor: Descriptor

  init(_ path: String) throws {
    // Opening a pipe without a writer would block; for a file the flag means nothing.
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw SystemError("open \(path)", code: errno) }
    descriptor = Descriptor(owning: number)
    var status = stat()
    guard fstat(number, &status) == 0 else { throw SystemError("look at \(path)", code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw NearbyError(
        .unsupported, "\(path) is no file: of a folder, make an archive; what a pipe gives can be sent as a stream")
    }
    size = UInt64(status.st_size)
    modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
    self.path = absolute(path)
  }

  func row(_ id: ResourceID, named name: String) -> StoredTransfer {
    StoredTransfer(
      id: id.rawValue, isIncoming: false, path: path, name: name, size: Int(size), modified: modified)
  }

  /// Whether it has not changed since.
  func isSame(as row: StoredTransfer) -> Bool { Int(size) == row.size && modified == row.modified }

  /// As many bytes as there are, up to `count`; in the memory of `spare`, where that is large enough.
  func read(_ count: Int, from offset: UInt64, into spare: consuming [UInt8] = []) throws -> [UInt8] {
    if spare.count < count {
      return try [UInt8](unsafeUninitializedCapacity: count) { $1 = try fill($0, from: offset) }
    }
    let filled = try spare.withUnsafeMutableBufferPointer {
      try fill(UnsafeMutableBufferPointer(rebasing: $0[..<count]), from: offset)
    }
    spare.removeLast(spare.count - filled)
    return spare
  }

  private func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, from offset: UInt64) throws(SystemError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let base = buffer.baseAddress.map { $0 + filled }
      let moved = pread(descriptor.number, base, buffer.count - filled, off_t(offset) + off_t(filled))
      if moved < 0, errno == EINTR { continue }
      guard moved >= 0 else { throw SystemError("read", code: errno) }
      if moved == 0 { break }
      filled += moved
    }
    return filled
  }
}
