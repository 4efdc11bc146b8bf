import Reactor
import Testing

@Suite struct SocketAddressTests {
  @Test(
    arguments: [
      "10.0.0.5:7777", "255.255.255.255:1", "[2001:db8::5]:65535", "[::1]:7777", "[fe80::1]:7777", "[fe80::1%7]:7777",
      "[::ffff:10.0.0.5]:80",
    ])
  func `an address reads back as it is written`(_ text: String) throws {
    #expect(try SocketAddress(text: text).description == text)
  }

  @Test func `an interface may be given by its name`() throws {
    let address = try SocketAddress(text: "[fe80::1%lo]:7777")
    guard case .v6(_, let scope) = address.host else { throw Fault.notV6 }
    #expect(scope == 1)
  }

  private enum Fault: Error { case notV6 }

  @Test(
    arguments: [
      ("", SocketAddressError.Fault.noPort), ("10.0.0.5", .noPort), ("[fe80::1]", .noPort), ("10.0.0.5:", .badPort),
      ("10.0.0.5:0", .badPort), ("10.0.0.5:65536", .badPort), ("10.0.0.5:+1", .badPort), ("10.0.0.5:٣", .badPort),
      ("fe80::1:7777", .noBrackets), ("fe80::g", .noBrackets), ("box.local:7777", .notNumeric), (":7777", .notNumeric),
      ("10.0.0:7777", .notNumeric), ("[10.0.0.5]:7777", .notNumeric), ("10.0.0.5%lo:7777", .notNumeric),
      ("[fe80::1:7777", .notNumeric), ("[]:7777", .notNumeric), ("[2001:db8::5%lo]:7777", .needlessScope),
      ("[fe80::1%nothere]:7777", .noInterface("nothere")), ("[fe80::1%]:7777", .noInterface("")),
      ("[fe80::1%0]:7777", .noInterface("0")), ("10.0.0.5\0:7777", .notNumeric),
    ])
  func `what is no address is refused with what to write instead`(_ text: String, _ fault: SocketAddressError.Fault) {
    let error = #expect(throws: SocketAddressError.self) { try SocketAddress(text: text) }
    #expect(error?.fault == fault)
    #expect(error.map { $0.description.contains("10.0.0.5:7777") || $0.description.count > 60 } == true)
  }

  @Test func `the better address has the lower rank`() throws {
    let texts = [
      "10.0.0.5:1", "[2001:db8::5]:1", "[fd00::5]:1", "169.254.0.5:1", "[fe80::5%1]:1",
    ]
    let ranks = try texts.map { try SocketAddress(text: $0).rank }
    #expect(ranks == ranks.sorted() && Set(ranks).count == 5)
  }

  @Test func `addresses that no host can have, and those of this machine, are known as such`() throws {
    for text in ["0.0.0.0:1", "224.0.0.251:1", "255.255.255.255:1", "[::]:1", "[ff02::fb]:1", "[::ffff:224.0.0.1]:1"] {
      #expect(try !SocketAddress(text: text).isUnicast)
    }
    for text in ["127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
      #expect(try SocketAddress(text: text).isLoopback)
    }
    #expect(try !SocketAddress(text: "128.0.0.1:1").isLoopback)
  }
}
