import CLinux
import Glibc
import Reactor
import Testing

@testable import lab_rig

/// A loop on a thread of its own, on a host of the laboratory, with that host's interfaces and daemons.
struct HostLoop {
  let reactor: Reactor

  init(on process: Int) throws {
    reactor = try Reactor()
    var thread = pthread_t()
    let start = Start { [reactor] in
      do {
        try enter(process)
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

/// Moves the calling thread to where a process is, for good.
private func enter(_ process: Int) throws {
  guard getuid() == 0 else {
    throw LabError("This test moves a thread of its own onto another host, which takes root: run it as root.")
  }
  // Mounts are shared with other threads as long as these are.
  guard unshare(0x0000_0200) == 0 else { throw SystemError("unshare CLONE_FS", code: errno) }
  for (name, kind) in [("net", 0x4000_0000), ("mnt", 0x0002_0000)] {
    let number = Glibc.open("/proc/\(process)/ns/\(name)", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open the namespace \(name)", code: errno) }
    let namespace = Descriptor(owning: number)
    guard setns(namespace.number, CInt(kind)) == 0 else { throw SystemError("setns \(name)", code: errno) }
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
