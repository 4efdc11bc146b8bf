import Glibc
import Reactor
import Testing

/// A loop on a thread of its own, inside a box.
struct BoxLoop {
  let reactor: Reactor

  init(in box: Box) throws {
    reactor = try Reactor()
    var thread = pthread_t()
    let start = Start { [reactor] in
      do {
        try box.enter()
      } catch {
        Issue.record(error)
      }
      reactor.run()
    }
    let code = pthread_create(&thread, nil, runThread, Unmanaged.passRetained(start).toOpaque())
    guard code == 0 else { throw SystemError("start a thread", code: code) }
    pthread_detach(thread)
  }
}

private final class Start {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

private func runThread(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // It was retained for this thread alone.
  Unmanaged<Start>.fromOpaque(start!).takeRetainedValue().body()
  return nil
}
