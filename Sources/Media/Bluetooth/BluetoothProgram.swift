internal import Glibc
internal import Reactor

/// How a host gets a process of `vicinity-bluetooth`: from the service of the package, by its socket; else by starting the program itself.
struct BluetoothProgram {
  /// The service's socket, at which each connection gets a process.
  var socketPath = "/run/vicinity-bluetooth/socket"
  /// Beside this program, or where the package has it.
  var programPaths = ["\(folderOfProgram)/vicinity-bluetooth", "/usr/libexec/vicinity-bluetooth"]

  /// The descriptor of its connection in a process that is started here, as with systemd's.
  private static let descriptor: CInt = 3

  private static var folderOfProgram: String {
    var room = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &room, room.count - 1)
    let path = String(decoding: room.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }

  func connect(on reactor: Reactor) throws(Trouble) -> Descriptor {
    do throws(SystemError) {
      return try .packets(to: socketPath)
    } catch {
      switch error.code {
      case ENOENT, ECONNREFUSED:
        guard let programPath else { throw Self.isMissing }
        return try start(programPath, on: reactor)
      case EACCES: throw Self.isForbidden
      default:
        throw Trouble(
          cause: "The Bluetooth service of vicinity does not answer: \(error).",
          cure: "See 'systemctl status vicinity-bluetooth.socket'.")
      }
    }
  }

  private var programPath: String? { programPaths.first { access($0, X_OK) == 0 } }

  /// The reason why it cannot be had, as far as its files tell.
  var trouble: Trouble? {
    if access(socketPath, F_OK) == 0 { return access(socketPath, W_OK) == 0 ? nil : Self.isForbidden }
    return programPath == nil ? Self.isMissing : nil
  }

  private static let isForbidden = Trouble(
    cause: "This user may not use the Bluetooth service of vicinity.",
    cure: "Let it: 'adduser USER vicinity', and log in again.")

  private static let isMissing = Trouble(
    cause: "The program of the Bluetooth medium, vicinity-bluetooth, is not installed.",
    cure: "Install the package vicinity-bluetooth.")

  /// Starts it with one end of a pair of sockets; it ends when the other end closes.
  private func start(_ path: String, on reactor: Reactor) throws(Trouble) -> Descriptor {
    do throws(SystemError) {
      let pair = try Descriptor.packetPair()
      try reactor.startProgram(path, with: pair.theirs, as: Self.descriptor)
      return try pair.ours.duplicate()
    } catch {
      throw Trouble(
        cause: "\(path) cannot be started: \(error).", cure: "Install the package vicinity-bluetooth again.")
    }
  }
}
