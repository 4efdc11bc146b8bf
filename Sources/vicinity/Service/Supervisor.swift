internal import Glibc

/// The service manager that started this process, systemd or a compatible one: it gets status notifications
/// (`sd_notify`), and can pass open sockets (socket activation).
struct Supervisor: Sendable {
  /// The address for notifications; nil for none. One that begins with `@` is an abstract socket, and no file.
  private let notifyAddress: String?
  /// The watchdog timeout: the time within which the service must report that it is alive.
  let watchdogTime: Duration?
  /// Descriptors of sockets that are open already.
  let sockets: [CInt]

  private static let firstSocket: CInt = 3

  init(_ environment: [String: String], process: pid_t = getpid()) {
    notifyAddress = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    func isMeant(_ name: String) -> Bool { environment[name].map { $0 == "\(process)" } ?? true }
    let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
    watchdogTime = isMeant("WATCHDOG_PID") ? microseconds.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
    let count = environment["LISTEN_FDS"].flatMap { CInt($0) } ?? 0
    let isOurs = environment["LISTEN_PID"] == "\(process)"
    sockets = isOurs && (1...64).contains(count) ? Array(Self.firstSocket..<Self.firstSocket + count) : []
    // Child processes must not inherit them.
    for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
  }

  enum Notification: Sendable {
    case ready(status: String)
    case alive
    /// The service ends within this time.
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

  /// Sends a notification and returns whether it was sent. It never blocks: a full queue gets the next one.
  @discardableResult
  func notify(_ notification: Notification) -> Bool {
    guard let notifyAddress else { return false }
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return false }
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(notifyAddress.utf8)
    guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    if path[0] == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    // An abstract name has no zero byte behind it.
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count + (path[0] == 0 ? 0 : 1))
    let bytes = Array(notification.text.utf8)
    return withUnsafePointer(to: &address) {
      // Every socket address begins with the fields of a `sockaddr`, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, length) == bytes.count
      }
    }
  }
}
