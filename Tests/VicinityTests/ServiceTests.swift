import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Nearby
@testable import vicinity

/// A gateway as a service: its notifications to the supervisor, its inherited sockets and its end.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct ServiceTests {
  @Test("A supervisor hears that the service is ready, lives and stops, and SIGTERM ends it with success")
  func supervised() throws {
    let folder = TemporaryFolder()
    let ear = try NotifySocket("\(folder.path)/notify")
    let gateway = try Self.gateway(
      folder, environment: ["NOTIFY_SOCKET": "\(folder.path)/notify", "WATCHDOG_USEC": "200000"])
    #expect(try ear.hear("READY=1").contains("STATUS=at "))
    for _ in 0..<3 { _ = try ear.hear("WATCHDOG=1") }
    gateway.signal(SIGTERM)
    #expect(try ear.hear("STOPPING=1").contains("EXTEND_TIMEOUT_USEC="))
    #expect(try gateway.ended() == 0)
  }

  @Test("A name that is no file is a place for news, too; without one nobody is told")
  func abstract() throws {
    let name = "@vicinity-test-\(getpid())"
    let ear = try NotifySocket(name)
    let supervisor = Supervisor(["NOTIFY_SOCKET": name])
    #expect(supervisor.notify(.alive))
    #expect(try ear.hear("WATCHDOG=1") == "WATCHDOG=1\n")
    #expect(!Supervisor([:]).notify(.alive))
    #expect(!Supervisor(["NOTIFY_SOCKET": "\(name)-nobody"]).notify(.alive))
    #expect(Supervisor(["WATCHDOG_USEC": "500000"]).watchdogTime == .milliseconds(500))
    #expect(Supervisor(["WATCHDOG_USEC": "500000", "WATCHDOG_PID": "1"]).watchdogTime == nil)
    #expect(Supervisor(["LISTEN_FDS": "2", "LISTEN_PID": "1"]).sockets == [])
    #expect(Supervisor(["LISTEN_FDS": "-1", "LISTEN_PID": "\(getpid())"]).sockets == [])
  }

  @Test("Sockets that a supervisor opened are the gateway's, at their port and no other", arguments: [true, false])
  func activated(_ hasDatagrams: Bool) throws {
    let folder = TemporaryFolder()
    // Opens what systemd would for 'ListenStream=' and 'ListenDatagram=', says which port that is, and becomes the gateway.
    let opener = """
      import os, socket, sys
      stream = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
      port = stream.getsockname()[1]
      open(sys.argv[1], "w").write(str(port))
      count = 1
      os.dup2(stream.fileno(), 103, inheritable=True)
      if sys.argv[2] == "true":
          datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
          datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
          datagrams.bind(("::", port))
          os.dup2(datagrams.fileno(), 104, inheritable=True)
          count = 2
      for number in range(count):
          os.dup2(103 + number, 3 + number, inheritable=True)
      os.environ.update(LISTEN_FDS=str(count), LISTEN_PID=str(os.getpid()))
      os.execv(sys.argv[3], sys.argv[3:])
      """
    let gateway = try Program(
      Self.arguments(folder), .noInput, in: folder.path,
      through: ["python3", "-c", opener, "\(folder.path)/port", "\(hasDatagrams)"])
    let serving = try JSON(parsing: gateway.line("\"serving\""))
    let port = folder.text(of: "port")
    let addresses = (serving["addresses"]?.list ?? []).compactMap(\.text)
    #expect(!addresses.isEmpty && addresses.allSatisfy { $0.hasSuffix(":\(port)") }, "\(serving.line)")
    for host in ["127.0.0.1", "[::1]"] {
      let answer = try #require(Tool.run("curl", ["--silent", "--max-time", "10", "http://\(host):\(port)/readyz"]))
      #expect(answer.text == "ready\n")
      // A client over IPv4 is local on a dual-stack socket, too.
      let numbers = Tool.run("curl", ["--silent", "--max-time", "10", "http://\(host):\(port)/metrics"])?.text
      #expect(numbers?.contains("vicinity_ready 1") == true)
    }
    gateway.signal(SIGTERM)
    #expect(try gateway.ended() == 0)
  }

  @Test("A second SIGTERM ends at once what would still be waited for")
  func twice() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder, ["--drain-time", "60"])
    let url = try #require(JSON(parsing: gateway.line("\"serving\""))["addresses"]?.list?.first?.text)
    let port = url.split(separator: ":").last ?? ""
    // A request whose body never comes whole is under way.
    let slow = try Program(
      [
        "--silent", "--max-time", "60", "-H", "Content-Type: application/json", "-T", "-", "-X", "POST",
        "http://127.0.0.1:\(port)/v1/pairings",
      ],
      .pipes, in: folder.path, running: "/usr/bin/curl")
    var underWay = false
    while !underWay {
      let numbers = Tool.run("curl", ["--silent", "http://127.0.0.1:\(port)/metrics"])?.text ?? ""
      underWay = numbers.contains("vicinity_http_requests_in_flight 2")
    }
    gateway.signal(SIGTERM)
    _ = try gateway.line("\"draining\"")
    gateway.signal(SIGTERM)
    #expect(try gateway.ended(within: 5) == 143)
    withExtendedLifetime(slow) {}
  }

  @Test("The log is lines for a journal or objects for programs, with no more than was asked for and no token in it")
  func logs() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder, ["--log", "json", "--log-level", "debug"])
    let address = try #require(JSON(parsing: gateway.line("\"serving\""))["addresses"]?.list?.first?.text)
    let port = address.split(separator: ":").last ?? ""
    _ = Tool.run(
      "curl",
      [
        "--silent", "-H", "Authorization: Bearer vct_none",
        "http://127.0.0.1:\(port)/v1/vct_secretsecret?token=vct_more",
      ])
    _ = Tool.run("curl", ["--silent", "http://127.0.0.1:\(port)/v1/peers"])
    let refused = try JSON(parsing: gateway.line("GET /v1/peers: ", on: 1))
    #expect(refused["level"] == "info" && refused["for"] == "client" && refused["event"] == "refused")
    #expect(
      refused["status"] == 401 && refused["problem"] == "unauthorized" && refused["at"]?.text?.hasSuffix("Z") == true)
    let answered = try JSON(parsing: gateway.line("\"answered\"", on: 1))
    #expect(answered["level"] == "debug" && answered["for"] == "developer")
    gateway.signal(SIGTERM)
    #expect(try gateway.ended() == 0)
    #expect(
      gateway.err.contains("\"draining\"") && !gateway.err.contains("secret") && !gateway.err.contains("vct_more"))
    for line in gateway.err.split(separator: "\n") { _ = try JSON(parsing: String(line)) }
    let elsewhere = TemporaryFolder()
    let quiet = try Self.gateway(elsewhere, ["--log-level", "error"])
    let other = try #require(JSON(parsing: quiet.line("\"serving\""))["addresses"]?.list?.first?.text)
    _ = Tool.run("curl", ["--silent", "http://127.0.0.1:\(other.split(separator: ":").last ?? "")/v1/peers"])
    quiet.signal(SIGTERM)
    #expect(try quiet.ended() == 0 && quiet.err.isEmpty)
    withExtendedLifetime((folder, elsewhere)) {}
  }

  // MARK: The stage

  private static func arguments(_ folder: TemporaryFolder) -> [String] {
    [
      "serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0", "--discovery",
      "static",
    ]
  }

  private static func gateway(
    _ folder: TemporaryFolder, _ more: [String] = [], environment: [String: String] = [:]
  ) throws -> Program {
    try Program(arguments(folder) + more, .noInput, in: folder.path, environment: environment)
  }
}

/// The socket on which a supervisor receives notifications of its service.
private final class NotifySocket {
  private let socket: CInt

  init(_ place: String) throws {
    socket = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(place.utf8)
    if path[0] == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count + (path[0] == 0 ? 0 : 1))
    let (socket, bound) = (socket, address)
    let result = withUnsafePointer(to: bound) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
    }
    guard result == 0 else { throw Program.Silence(description: "nobody can listen at \(place): \(errno)") }
  }

  deinit { close(socket) }

  /// The next news in which that stands.
  func hear(_ wanted: String) throws -> String {
    while true {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let count = poll(&wait, 1, 20_000) == 1 ? recv(socket, &bytes, bytes.count, 0) : -1
      guard count >= 0 else { throw Program.Silence(description: "nobody said \(wanted)") }
      let said = String(decoding: bytes.prefix(count), as: UTF8.self)
      if said.contains(wanted) { return said }
    }
  }
}
