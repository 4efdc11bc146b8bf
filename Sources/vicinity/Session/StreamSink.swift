internal import Glibc

/// A destination for the bytes of streams, which are written one after another.
actor StreamSink {
  enum Place: Sendable {
    case output
    case file(String)
  }

  private let place: Place
  private let screen: Screen
  private var file: CInt?
  private var isTaken = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  init(_ place: Place, _ screen: Screen) {
    self.place = place
    self.screen = screen
  }

  func begin() async throws {
    if isTaken { await withCheckedContinuation { waiters.append($0) } }
    isTaken = true
    guard case .file(let path) = place, file == nil else { return }
    let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    if number < 0 {
      throw Failure(
        .failed, "\(PlainText.line(path)) cannot be written: \(FileSystem.lastErrorText()); choose another --output.")
    }
    file = number
  }

  func end() {
    if waiters.isEmpty { isTaken = false } else { waiters.removeFirst().resume() }
  }

  func write(_ bytes: [UInt8]) async throws {
    guard case .file(let path) = place else {
      await screen.write(bytes)
      if await screen.hasReader { return }
      throw Failure(.failed, await screen.outputFault ?? "Nobody reads standard output any more.")
    }
    guard let file else { return }
    var left = bytes[...]
    while !left.isEmpty {
      let count = left.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.failed, "\(PlainText.line(path)) cannot be written: \(FileSystem.lastErrorText()).")
      }
      left = left.dropFirst(count)
    }
  }
}
