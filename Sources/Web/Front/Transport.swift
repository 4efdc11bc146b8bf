internal import Media
internal import Reactor

/// The client's end of a connection: a socket, in the clear or under TLS.
final class Transport {
  enum Step {
    /// The number of bytes that went through, at least one.
    case moved(Int)
    case blocked
    /// The client sends no more.
    case ended
    case failed
  }

  let socket: Descriptor
  private let stream: ServerStream?
  /// The number of writes.
  private(set) var writeCount = 0

  init(_ socket: consuming Descriptor, _ stream: ServerStream? = nil) {
    self.socket = socket
    self.stream = stream
  }

  var isSecure: Bool { stream != nil }

  /// Whether no written bytes wait here for the socket.
  var isFlushed: Bool { stream?.isFlushed ?? true }

  func read(_ room: UnsafeMutableRawBufferPointer) -> Step {
    if let stream {
      let step = Step(stream.read(room))
      // Reading may have made TLS write, such as an alert.
      _ = flush()
      return step
    }
    do throws(SystemError) {
      guard let count = try socket.receive(room) else { return .blocked }
      return count == 0 ? .ended : .moved(count)
    } catch {
      return .failed
    }
  }

  /// Writes as many of the bytes as it can; there is at least one.
  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    writeCount += 1
    do throws(SystemError) {
      guard let stream else { return try socket.send(bytes).map(Step.moved) ?? .blocked }
      if case .failed = flush() { return .failed }
      if !stream.isFlushed { return .blocked }
      let step = Step(stream.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(ServerStream.batchBytesMax))))
      if case .failed = flush() { return .failed }
      return step
    } catch {
      return .failed
    }
  }

  /// Writes the waiting bytes to the socket.
  func flush() -> Step {
    stream.map { Step($0.flush(to: socket)) } ?? .moved(0)
  }

  /// Ends the output, so that the client sees its end.
  func endSending() {
    stream?.sayGoodbye()
    _ = flush()
    socket.endSending()
  }
}

extension Transport.Step {
  fileprivate init(_ step: ServerStream.Step) {
    self =
      switch step {
      case .moved(let count): .moved(count)
      // Without renegotiation, a write never has to wait for a read, nor a read for a write: it has its outbox.
      case .needsReadable, .needsWritable: .blocked
      case .ended: .ended
      case .failed: .failed
      }
  }
}
