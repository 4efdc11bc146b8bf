internal import Glibc

/// Who started this as a service, systemd or one that does as it does: it is told how the service is, and may have opened
/// its sockets.
struct Supervisor: Sendable {
  /// Where datagrams with news of the service go; nil where nobody wants to know. One that begins with `@` is no file.
  private let place: String?
  /// In which it wants to hear that the service lives.
  let watchdogTime: Duration?
  /// Descriptors of sockets that are open already.
  let sockets: [CInt]

  private static let firstSocket: CInt = 3

  init(_ environment: [String: String], process: pid_t = getpid()) {
    place = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    func isMeant(_ name: String) -> Bool { environment[name].map { $0 == "\(process)" } ?? true }
    let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
    watchdogTime = isMeant("WATCHDOG_PID") ? microseconds.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    let count = environment["LISTEN_FDS"].flatMap { CInt($0) } ?? 0
    let isOurs = environment["LISTEN_PID"] == "\(process)"
    sockets = isOurs && (1...64).contains(count) ? Array(Self.firstSocket..<Self.firstSocket + count) : []
    // Programs that this one might start have nothing to do with them.
    for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
  }

  enum News: Sendable {
    case ready(status: String)
    case alive
    /// Within this time it has ended.
    case stopping(within: Duration, status: String)

    fileprivate var text: String {
      switch self {
      case .ready(let status): "READY=1\nSTATUS=\(status)\n"
      case .alive: "WATCHDOG=1\n"
      case .stopping(let time, let status):
        "STOPPING=1\nEXTEND_TIMEOUT_USEC=\(time.components.seconds * 1_000_000)\nSTATUS=\(status)\n"
      }
    }
  }

  /// Whether somebody was told. It never waits: who has no room for it is told the next time.
  @discardableResult
  func tell(_ news: News) -> Bool {
    guard let place else { return false }
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(place.utf8)
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    if path[0] == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    // A name that is no file has no zero behind it.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count + (path[0] == 0 ? 0 : 1))
    let bytes = Array(news.text.utf8)
    return withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, length) == bytes.count
      }
    }
  }
}
