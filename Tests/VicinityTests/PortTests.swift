import Reactor
import Testing

@testable import Nearby

@Suite(.ownThread) struct PortTests {
  @Test func `A port that is taken, for links or for probes alone, is told with who has it`() throws {
    #expect(PortCheck.findings(0).map(\.state) == [.good])
    let listener = try Descriptor.listening(at: .anyV4(port: 0))
    let port = try #require(try listener.localAddress()).port
    let taken = PortCheck.findings(port)
    // Somebody else may have the other port of the same number.
    #expect(taken.allSatisfy { $0.state == .bad })
    let links = taken.first { $0.says.contains("Port \(port) (TCP)") }
    #expect(links?.cure?.contains("--port") == true)
    let datagrams = try Descriptor.datagrams(at: .anyV6(port: 0))
    let other = try #require(try datagrams.localAddress()).port
    #expect(PortCheck.findings(other).contains { $0.state == .bad && $0.says.contains("(UDP)") })
    let told = try Program.run("doctor", "--json", "--timeout", "200ms", "--keys", "ephemeral", "--port", "\(port)")
    #expect(told.code == 1)
    #expect(told.out.contains(#""check":"port","state":"bad""#))
    #expect(told.out.contains(#""event":"diagnosis""#))
  }

  @Test func `A host that is given its own address among those of others does not take itself for another`() throws {
    // Free again by the time it is used.
    let port = try #require(try Descriptor.listening(at: .anyV4(port: 0)).localAddress()).port
    let told = try Program.run(
      "browse", "chat", "--json", "--timeout", "1", "--keys", "ephemeral", "--port", "\(port)", "--at",
      "127.0.0.1:\(port)")
    #expect(told.out.contains(#""event":"started""#), "\(told.err)")
    #expect(!told.out.contains("in use on another one"))
  }

  @Test func `The holder of a port is read from the kernel's lists`() throws {
    let line =
      "   0: 0100007F:1E61 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24563 1 0 100 0"
    #expect(PortHolder.socket(in: line, .tcp, 7_777) == "socket:[24563]")
    // Another port, one that is connected, and what is none.
    for (line, port) in [(line, 7_778), (line.replacing(" 0A ", with: " 01 "), 7_777), ("", 0), ("0: x 1 0A", 1)] {
      #expect(PortHolder.socket(in: line, .tcp, UInt16(port)) == nil, "\(line)")
    }
    let program = try Program(
      [
        "-c",
        "import socket,time\ns=socket.create_server(('127.0.0.1',0))\nprint(s.getsockname()[1],flush=True)\ntime.sleep(99)",
      ], .noInput, running: "/usr/bin/python3")
    let port = try #require(UInt16(try program.line("")))
    let holder = try #require(PortHolder(of: .tcp, port))
    #expect(holder.process == Int(program.process) && holder.name.hasPrefix("python3"))
    #expect(PortHolder(of: .udp, port)?.process != Int(program.process))
  }
}
