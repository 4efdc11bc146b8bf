import FoundationEssentials
import Glibc
import Notation
import Reactor
import TestKit
import Testing

@testable import Nearby
@testable import vicinity

/// The addresses of a gateway: conflicts there, and how a browser of the same machine reaches it.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct ListenTests {
  private static func gateway(_ folder: TemporaryFolder, _ options: [String], environment: [String: String] = [:])
    throws -> Program
  {
    try Program(
      ["serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--discovery", "none"] + options,
      .noInput, in: folder.path, environment: environment)
  }

  private static func connects(to host: String, _ port: UInt16) -> Bool {
    guard let address = SocketAddress(host, port: port), let socket = try? Descriptor.connecting(to: address) else {
      return false
    }
    var wait = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
    return poll(&wait, 1, 5_000) == 1 && socket.connectionError() == nil
  }

  /// Another program may listen at the same port of another address, so the sockets of this one are looked at.
  private static func listens(_ gateway: Program, at host: String, _ port: UInt16) throws -> Bool {
    let folder = "/proc/\(gateway.process)/fd"
    let own = try Set(
      FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
        try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      })
    // The kernel writes each 32 bits of an address as a number of this machine's byte order.
    let address = ["127.0.0.1": "0100007F", "127.0.0.2": "0200007F", "::1": "00000000000000000000000001000000"][host]
    let start = try " \(#require(address)):"
    return try ["tcp", "tcp6"].contains { table in
      // Foundation reads no more of such a file than its first 4,096 bytes.
      let bytes = try #require(try Descriptor.opened("/proc/net/\(table)", O_RDONLY).readAll(atMost: 16 << 20))
      let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      return !own.isDisjoint(
        with: lines.filter { $0.contains(start) }.compactMap { PortHolder.socket(in: $0, .tcp, port) })
    }
  }

  private static func port(of serving: JSON) throws -> UInt16 {
    let address = try #require(serving["addresses"]?.list?.first?.text)
    return try SocketAddress(text: address).port
  }

  @Test(arguments: [
    (["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2", "::1"]), (["127.0.0.2", "::1"], ["127.0.0.2", "::1"], ["127.0.0.1"]),
    (["0.0.0.0"], ["127.0.0.1", "127.0.0.2"], ["::1"]),
  ])
  func `It listens at the addresses it is told to, and nowhere else`(
    _ listened: [String], _ open: [String], _ closed: [String]
  ) throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder, ["--port", "0"] + listened.flatMap { ["--listen", $0] })
    let serving = try JSON(parsing: try gateway.line("\"serving\""))
    let port = try Self.port(of: serving)
    for host in open { #expect(Self.connects(to: host, port), "\(host)") }
    for host in closed { #expect(try !Self.listens(gateway, at: host, port), "\(host)") }
    for host in listened where host != "0.0.0.0" { #expect(try Self.listens(gateway, at: host, port), "\(host)") }
    if listened == ["127.0.0.1"] {
      #expect(serving["addresses"]?.list?.map(\.text) == ["127.0.0.1:\(port)"])
    }
  }

  /// Asks over 150 connections that stay open, and prints how many of them were answered.
  private static let asker = """
    import socket, sys
    kept = []
    for _ in range(150):
        client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
        try:
            client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
            if client.recv(4096): kept.append(client)
        except ConnectionError: pass
    print(len(kept))
    """

  @Test func `A connection for which there is no descriptor is closed at once, and the log says what to do`() throws {
    let folder = TemporaryFolder()
    let gateway = try Program(
      ["serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--discovery", "none"]
        + ["--port", "0", "--listen", "127.0.0.1"],
      .noInput, in: folder.path, through: ["prlimit", "--nofile=200"])
    let port = try Self.port(of: JSON(parsing: gateway.line("\"serving\"")))
    let asking = try Program(["-c", Self.asker, "\(port)"], .noInput, running: "/usr/bin/python3")
    #expect(try asking.ended() == 0)
    #expect(asking.out == "100\n", "half of the descriptors are for connections: \(asking.out)\(asking.err)")
    #expect(try gateway.line("connectionRefused", on: 1).contains("ulimit -n"))
  }

  @Test func `An address may name the port of all, and two may not name two`() throws {
    let folder = TemporaryFolder()
    let port = try #require(try Descriptor.listening(at: .loopback(port: 0)).localAddress()).port
    let gateway = try Self.gateway(folder, ["--listen", "127.0.0.1:\(port)", "--listen", "127.0.0.2"])
    #expect(try Self.port(of: JSON(parsing: gateway.line("\"serving\""))) == port)
    let two = try Program.run(
      "serve", "--keys", "ephemeral", "--folder", folder.path, "--discovery", "none", "--listen", "127.0.0.1:4000",
      "--listen", "[::1]:4001")
    #expect(two.code == 2 && two.err.contains("4000 and 4001"), "\(two)")
    for text in ["here", "1.2.3", "::1%none", "10.0.0.1:99999", "[::1", ""] {
      let wrong = try Program.run("serve", "--listen", text)
      #expect(wrong.code == 2 && wrong.err.contains("--listen"), "\(text): \(wrong)")
    }
  }

  @Test func `A port that is taken is told with who has it, and an address that is not here with those that are`()
    throws
  {
    let folder = TemporaryFolder()
    let holder = try Self.gateway(folder, ["--port", "0", "--listen", "127.0.0.1"])
    let port = try Self.port(of: JSON(parsing: holder.line("\"serving\"")))
    func refusal(_ options: String...) throws -> String {
      let other = TemporaryFolder()
      let program = try Self.gateway(other, options)
      #expect(try program.ended() == 1)
      return program.out + program.err
    }
    let taken = try refusal("--listen", "127.0.0.1:\(port)")
    #expect(
      taken.contains("port \(port) is in use by vicinity (pid \(holder.process)): stop that or use --port"), "\(taken)")
    let foreign = try refusal("--port", "0", "--listen", "192.0.2.77")
    #expect(foreign.contains("this machine has no address 192.0.2.77: it has "), "\(foreign)")
    #expect(foreign.contains("127.0.0.1"), "\(foreign)")
  }

  @Test func `Each error of listening has its words`() {
    func words(_ code: CInt) -> String {
      NearbyError(SystemError("bind", code: code), listeningAt: [], port: 1).description
    }
    #expect(words(EACCES).contains("below 1024 are for root"))
    #expect(words(EMFILE).contains("ulimit -n"))
    #expect(words(ENFILE).contains("fs.file-max"))
    #expect(words(EAFNOSUPPORT).contains("family"))
    #expect(words(EIO).contains("EIO"))
  }

  @Test func `The code comes with the address for a browser of this machine, in a fragment, for the role that is told`()
    throws
  {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(
      folder, ["--port", "0", "--listen", "127.0.0.1", "--show-code", "--code-role", "viewer", "--code-life", "2m"])
    let port = try Self.port(of: JSON(parsing: gateway.line("\"serving\"")))
    let told = try JSON(parsing: try gateway.line("\"pairingCode\""))
    let code = try #require(told["code"]?.text)
    #expect(told["localURL"]?.text == "http://localhost:\(port)/#code=\(code)")
    #expect(told["role"] == "viewer" && told["seconds"] == 120)
    let bare = TemporaryFolder()
    let without = try Self.gateway(bare, ["--port", "0", "--listen", "127.0.0.1", "--show-code", "--no-dashboard"])
    let alone = try JSON(parsing: try without.line("\"pairingCode\""))
    #expect(alone["code"] != nil && alone["url"] == nil && alone["localURL"] == nil)
  }

  @Test func `A browser is opened with a code of its own, which stands in no command line`() throws {
    let folder = TemporaryFolder()
    // Another process writes it: a program that is open for writing does not start, and every process that is started
    // here meanwhile would have the descriptor.
    let text = "#!/bin/sh\necho \"$@\" >opened.new\nmv opened.new opened\n"
    let maker = try Program(
      ["-c", "printf %s \"$0\" >xdg-open && chmod 755 xdg-open", text], .noInput, in: folder.path, running: "/bin/sh")
    #expect(try maker.ended() == 0)
    let gateway = try Self.gateway(
      folder, ["--port", "0", "--listen", "127.0.0.1", "--show-code", "--open"],
      environment: ["PATH": "\(folder.path):/usr/bin:/bin"])
    let port = try Self.port(of: JSON(parsing: gateway.line("\"serving\"")))
    let shown = try #require(try JSON(parsing: gateway.line("\"pairingCode\""))["code"]?.text)
    let deadline = ContinuousClock.now + .seconds(20)
    while !folder.has("opened"), ContinuousClock.now < deadline { sched_yield() }
    let page = "\(folder.path)/gateway/open.html"
    #expect(folder.text(of: "opened") == page + "\n")
    #expect(try FileManager.default.attributesOfItem(atPath: page)[.posixPermissions] as? Int == 0o600)
    let html = folder.text(of: "gateway/open.html")
    let codes = html.matches(of: ##/#code=([A-Z0-9]{4}-[A-Z0-9]{4})"/##).map { String($0.output.1) }
    let code = try #require(codes.first)
    #expect(code != shown && html.contains("url=http://localhost:\(port)/#code=\(code)"))
    gateway.signal(SIGTERM)
    #expect(try gateway.ended() == 0)
    #expect(!FileManager.default.fileExists(atPath: page))
    #expect(!(gateway.out + gateway.err).contains(code))
  }

  @Test func `A browser that cannot be opened is reported with what to do`() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(
      folder, ["--port", "0", "--listen", "127.0.0.1", "--open"], environment: ["PATH": "/nowhere"])
    try gateway.line("Install xdg-utils")
  }
}
