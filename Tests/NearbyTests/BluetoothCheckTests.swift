import Glibc
import Media
import TestKit
import Testing

@testable import Nearby

@Suite struct BluetoothCheckTests {
  private let folder = TemporaryFolder()

  private func make(_ names: String...) throws {
    var path = folder.path
    for name in names {
      path += "/\(name)"
      try #require(mkdir(path, 0o700) == 0 || errno == EEXIST)
    }
  }

  private func add(_ adapter: String, isOff: Bool = false) throws {
    try make("class", "bluetooth", adapter, "rfkill3")
    for name in ["soft", "hard"] {
      try folder.write("\(isOff && name == "soft" ? 1 : 0)\n".utf8, to: "class/bluetooth/\(adapter)/rfkill3/\(name)")
    }
  }

  private func states(_ media: [HostMedium], program: Trouble? = nil) -> [Finding.State] {
    let findings = BluetoothCheck.findings(media, root: folder.path, program: program)
    #expect(findings.allSatisfy { $0.check == .bluetooth && ($0.state == .good) == ($0.cure == nil) })
    return findings.map(\.state)
  }

  @Test("Without an adapter the doctor says nothing of Bluetooth, unless a medium asks for it")
  func none() throws {
    #expect(states([.lan]) == [])
    #expect(states([.bluetooth()]) == [.bad])
    try make("class", "bluetooth")
    #expect(states([.lan]) == [])
  }

  @Test("An adapter that is there is good, and named where it is asked for")
  func adapters() throws {
    try add("hci0")
    // A connection, which is no adapter.
    try make("class", "bluetooth", "hci0:12")
    #expect(states([.lan]) == [.good])
    #expect(states([.bluetooth()]) == [.good])
    #expect(states([.bluetooth(adapter: "hci1")]) == [.bad])
  }

  @Test("An adapter that is turned off is bad where it is needed, and doubtful beside another")
  func off() throws {
    try add("hci0", isOff: true)
    #expect(states([.lan]) == [.doubtful])
    #expect(states([.bluetooth()]) == [.bad])
    try add("hci1")
    #expect(states([.bluetooth()]) == [.doubtful, .good])
    #expect(states([.bluetooth(adapter: "hci0")]) == [.bad])
  }

  @Test("A program that is missing is named with its cure")
  func program() throws {
    try add("hci0")
    let trouble = Trouble(cause: "It is not installed.", cure: "Install it.")
    #expect(states([.bluetooth()], program: trouble) == [.bad])
    #expect(states([.lan], program: trouble) == [.good])
  }
}
