internal import Glibc

/// A buffer for the frames of a commit, which writes them to SQLite's write-ahead log with one system call.
///
/// By default, SQLite makes two system calls for each frame: for its header, and for its page. Here the committing
/// thread collects them. The header of the last frame marks the end of the commit; with it all are written, before
/// SQLite syncs the log, and before any reader sees that it has grown. SQLite's other calls meanwhile write the buffer
/// first.
final class LogFrameBuffer {
  /// The limit on buffered bytes; a larger commit is written in parts.
  private static let bytesMax = 256 << 10
  private static let headBytes = 24
  private static let pageBytesMax = 64 << 10
  /// The bytes of a header that hold the size of the database in pages in a commit's last frame, else zero.
  private static let sizeInHead = 4..<8

  private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesMax, alignment: 16)
  private var file: CInt = -1
  /// The offset at which the buffer will be written, and the number of buffered bytes.
  private var offset: off_t = 0
  private var count = 0
  private var next = Part.head

  private enum Part {
    case head
    case page(isLast: Bool)
    /// All frames are written: later writes change them, and are not delayed.
    case nothing
  }

  deinit { bytes.deallocate() }

  /// Buffers the frames that the body commits.
  func buffer(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    defer {
      pthread_setspecific(Self.key, nil)
      // Frames of a failed commit, which no reader has seen.
      count = 0
      next = .head
    }
    try body()
    precondition(count == 0, "the log of what is committed is written")
  }

  /// The buffer of the commit that this thread is making.
  static var ofThisThread: LogFrameBuffer? {
    pthread_getspecific(key).map { Unmanaged<LogFrameBuffer>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let key = {
    var key = pthread_key_t()
    precondition(pthread_key_create(&key, nil) == 0, "there is room for a thread's own value")
    return key
  }()

  // MARK: System calls

  /// Replaces `pwrite`, with the same results.
  func write(_ file: CInt, _ bytes: UnsafeRawBufferPointer, at offset: off_t) -> Int {
    let isContiguous = file == self.file && offset == self.offset + off_t(count)
    switch next {
    case .head where bytes.count == Self.headBytes:
      if !isContiguous || count + Self.headBytes + Self.pageBytesMax > Self.bytesMax {
        guard flush() else { return -1 }
        (self.file, self.offset) = (file, offset)
      }
      append(bytes)
      next = .page(isLast: bytes[Self.sizeInHead].contains { $0 != 0 })
      return bytes.count
    case .page(let isLast) where isContiguous && bytes.count <= Self.pageBytesMax:
      append(bytes)
      next = isLast ? .nothing : .head
      return isLast && !flush() ? -1 : bytes.count
    default:
      return flush() ? pwrite(file, bytes.baseAddress, bytes.count, offset) : -1
    }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: self.bytes[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Writes the buffer; returns false if that failed, with the cause in `errno`. The bytes are not written again:
  /// SQLite gives the commit up.
  func flush() -> Bool {
    defer { count = 0 }
    var done = 0
    while done < count {
      let left = UnsafeRawBufferPointer(rebasing: bytes[done..<count])
      let more = pwrite(file, left.baseAddress, left.count, offset + off_t(done))
      if more == 0 { errno = ENOSPC }
      if more == 0 || more < 0 && errno != EINTR {
        next = .nothing
        return false
      }
      done += max(more, 0)
    }
    offset += off_t(count)
    return true
  }
}
