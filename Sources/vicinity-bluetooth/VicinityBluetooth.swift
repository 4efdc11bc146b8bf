internal import BluetoothServer
internal import Glibc
internal import Reactor

/// A process for one host, which does for it what takes Bluetooth, and hands over connected sockets.
///
/// Its connection with the host is descriptor 3, where systemd and the host put it, and it ends with that.
@main
enum VicinityBluetooth {
  private static let connection: CInt = 3

  static func main() {
    do {
      let reactor = try Reactor()
      let link = try HostConnection(.given(connection), on: reactor) { reactor.stop() }
      let service = BluetoothService(by: try LibrarySystem(on: reactor), reporting: link, on: reactor)
      link.handle = { service.handle($0) }
      reactor.run()
    } catch {
      let text = "vicinity-bluetooth is started by a host, which gives it a socket: \(error)\n"
      _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
      exit(1)
    }
  }
}
