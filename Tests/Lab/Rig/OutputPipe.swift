internal import CLinux
internal import Glibc
internal import Reactor

/// A pipe into which a process writes: both its ends, until the process has its own.
@Laboratory
final class OutputPipe {
  private var ours: Descriptor?
  private var theirs: Descriptor?
  private var registration: Registration?
  private let came: ([UInt8]) -> Void

  init(_ came: @escaping ([UInt8]) -> Void) throws {
    self.came = came
    var numbers: [CInt] = [0, 0]
    guard pipe2(&numbers, O_CLOEXEC) == 0 else { throw SystemError("pipe2", code: errno) }
    let ours = Descriptor(owning: numbers[0])
    theirs = Descriptor(owning: numbers[1])
    // Only our end waits for nothing; the process's is as it expects it.
    guard fcntl(ours.number, F_SETFL, O_NONBLOCK) == 0 else { throw SystemError("fcntl", code: errno) }
    registration = try Laboratory.reactor.register(ours, for: .readable) { [weak self] _ in self?.read() }
    self.ours = consume ours
  }

  /// The process's end, to be given to it; then it is not ours any more.
  func give<Result>(_ use: (CInt) throws -> Result) rethrows -> Result {
    guard let number = theirs?.number else { preconditionFailure("an outlet is given to one process") }
    defer { theirs = nil }
    return try use(number)
  }

  /// Reads what is still there, and no more afterwards.
  func finish() {
    while ours != nil, read() {}
    close()
  }

  @discardableResult
  private func read() -> Bool {
    guard let number = ours?.number else { return false }
    let room = 64 << 10
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      count = max(0, Glibc.read(number, buffer.baseAddress, room))
    }
    if bytes.isEmpty {
      if errno != EAGAIN { close() }
      return false
    }
    came(bytes)
    return true
  }

  private func close() {
    if let registration { Laboratory.reactor.deregister(registration) }
    registration = nil
    ours = nil
  }
}
