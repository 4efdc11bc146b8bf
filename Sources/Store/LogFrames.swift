internal import Glibc

/// The pages of a commit on their way to SQLite's log, which they reach in one piece.
///
/// Left alone, SQLite makes two calls of the system for each of them: for its head, and for the page. Here they are gathered
/// by the thread that commits. The head of the last one says that it is that; with it all of them go out, before SQLite
/// syncs the log, and before anybody hears that there is more in it. What else SQLite does meanwhile finds them written.
final class LogFrames {
  /// Of a commit that has more, a part goes out before it is that much.
  private static let bytesMax = 256 << 10
  private static let headBytes = 24
  private static let pageBytesMax = 64 << 10
  /// In a head: how many pages the database has after a commit that ends here, else none.
  private static let sizeInHead = 4..<8

  private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesMax, alignment: 16)
  private var file: CInt = -1
  /// Where they go, and how much there is by now.
  private var offset: off_t = 0
  private var count = 0
  private var next = Part.head

  private enum Part {
    case head
    case page(isLast: Bool)
    /// All is there: what is written now changes it, and is nothing to wait with.
    case nothing
  }

  deinit { bytes.deallocate() }

  /// What the body commits goes out together.
  func together(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    defer {
      pthread_setspecific(Self.key, nil)
      // Of a commit that failed: nobody knows of it.
      count = 0
      next = .head
    }
    try body()
    precondition(count == 0, "the log of what is committed is written")
  }

  /// Of the commit that this thread is at.
  static var ofThisThread: LogFrames? {
    pthread_getspecific(key).map { Unmanaged<LogFrames>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let key = {
    var key = pthread_key_t()
    precondition(pthread_key_create(&key, nil) == 0, "there is room for a thread's own value")
    return key
  }()

  // MARK: As the system has it

  /// As `pwrite` says it.
  func write(_ file: CInt, _ bytes: UnsafeRawBufferPointer, at offset: off_t) -> Int {
    let goesOn = file == self.file && offset == self.offset + off_t(count)
    switch next {
    case .head where bytes.count == Self.headBytes:
      if !goesOn || count + Self.headBytes + Self.pageBytesMax > Self.bytesMax {
        guard goOut() else { return -1 }
        (self.file, self.offset) = (file, offset)
      }
      gather(bytes)
      next = .page(isLast: bytes[Self.sizeInHead].contains { $0 != 0 })
      return bytes.count
    case .page(let isLast) where goesOn && bytes.count <= Self.pageBytesMax:
      gather(bytes)
      next = isLast ? .nothing : .head
      return isLast && !goOut() ? -1 : bytes.count
    default:
      return goOut() ? pwrite(file, bytes.baseAddress, bytes.count, offset) : -1
    }
  }

  private func gather(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: self.bytes[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Whether all that there is by now has gone out. If not, `errno` says why, and it never will: SQLite gives the commit up.
  func goOut() -> Bool {
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
