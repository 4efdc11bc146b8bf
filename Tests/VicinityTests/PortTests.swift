import Reactor
import Testing

@testable import Nearby

@Suite struct PortTests {
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

  @Test func `Who has a port is read from what ss prints`() {
    let line = #"LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=812,fd=3),("sshd",pid=813,fd=3))"#
    #expect(PortCheck.holder(in: line)?.name == "sshd")
    #expect(PortCheck.holder(in: line)?.process == "812")
    for text in ["", "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*", #"users:((""#, #"users:(("a"#, #"users:(("a",fd=3"#] {
      #expect(PortCheck.holder(in: text) == nil, "\(text)")
    }
  }
}
