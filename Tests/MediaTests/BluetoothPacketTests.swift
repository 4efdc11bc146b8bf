import BluetoothProtocol
import TestKit
import Testing
import Wire

@Suite struct BluetoothPacketTests {
  private static let host = HostID(ID128(high: 0x0102_0304_0506_0708, low: 0xF1F2_F3F4_F5F6_F7F8))
  private static let device = BluetoothAddress(0x00AA_0100_0042)
  private static let adapter = BluetoothAddress(0x00AA_0100_0007)

  private static let commands: [BluetoothCommand] = [
    .serve(host, adapter: nil), .serve(host, adapter: "hci0"), .inquire(units: 1),
    .inquire(units: BluetoothCommand.unitsMax), .search(device, from: adapter),
    .connect(ticket: .max, device, host, from: adapter),
    .cancel(ticket: 7), .answerPairing(id: .max, isAccepted: true), .answerPairing(id: 0, isAccepted: false),
  ]
  private static let reports: [BluetoothReport] = [
    .state(BluetoothState()),
    .state(BluetoothState(addresses: [device, BluetoothAddress(.max)], fault: .isNotDiscoverable)),
    .seen(device, deviceClass: 0x10_4FFF, at: [adapter]),
    .seen(device, deviceClass: 0, at: [BluetoothAddress](repeating: adapter, count: BluetoothState.adaptersMax)),
    .inquired(succeeded: true), .inquired(succeeded: false), .searched(device, from: adapter, nil),
    .searched(device, from: adapter, []), .searched(device, from: adapter, [host, host]),
    .accepted(device, at: adapter), .connected(ticket: 1),
    .failed(ticket: 2, code: -1),
    .pairingAsked(PairingQuestion(id: 7, device: device, name: "Annas Läptop", number: 42_117)),
    .pairingAsked(
      PairingQuestion(
        id: .max, device: device, name: String(repeating: "é", count: PairingQuestion.nameBytesMax / 2), number: nil,
        timeLeft: .zero)),
    .pairingEnded(id: 7, .accepted), .pairingEnded(id: .max, .cancelled),
  ]

  @Test(arguments: commands) func `A command is read as it was written, and no part or more of it is`(
    _ command: BluetoothCommand
  ) {
    let bytes = command.bytes
    #expect(BluetoothCommand(bytes) == command)
    for count in bytes.indices { #expect(BluetoothCommand(Array(bytes.prefix(count))) == nil) }
    #expect(BluetoothCommand(bytes + [0]) == nil)
  }

  @Test(arguments: reports) func `A report is read as it was written, and no part or more of it is`(
    _ report: BluetoothReport
  ) {
    let bytes = report.bytes
    #expect(BluetoothReport(bytes) == report && bytes.count <= BluetoothReport.bytesMax)
    for count in bytes.indices { #expect(BluetoothReport(Array(bytes.prefix(count))) == nil) }
    #expect(BluetoothReport(bytes + [0]) == nil)
  }

  @Test func `The bytes are these`() {
    #expect(
      BluetoothCommand.search(Self.device, from: Self.adapter).bytes == [
        3, 0x42, 0, 0, 1, 0xAA, 0, 7, 0, 0, 1, 0xAA, 0,
      ])
    let connect = BluetoothCommand.connect(ticket: 258, Self.device, Self.host, from: Self.adapter).bytes
    #expect(connect.prefix(9) == [4, 2, 1, 0, 0, 0, 0, 0, 0] && connect.suffix(6) == [7, 0, 0, 1, 0xAA, 0])
    #expect(
      BluetoothReport.seen(Self.device, deviceClass: 0x10_4FFF, at: [Self.adapter]).bytes
        == [2, 0x42, 0, 0, 1, 0xAA, 0, 0xFF, 0x4F, 0x10, 1, 7, 0, 0, 1, 0xAA, 0])
    #expect(
      BluetoothReport.accepted(Self.device, at: Self.adapter).bytes
        == [5, 0x42, 0, 0, 1, 0xAA, 0, 7, 0, 0, 1, 0xAA, 0])
    #expect(
      BluetoothReport.searched(Self.device, from: Self.adapter, [Self.host]).bytes
        == [
          4, 0x42, 0, 0, 1, 0xAA, 0, 7, 0, 0, 1, 0xAA, 0, 1, 1, 0xF8, 0xF7, 0xF6, 0xF5, 0xF4, 0xF3, 0xF2, 0xF1, 8, 7, 6,
          5, 4, 3, 2, 1,
        ])
    #expect(BluetoothReport.failed(ticket: 258, code: 112).bytes == [7, 2, 1, 0, 0, 0, 0, 0, 0, 112, 0, 0, 0])
    let question = PairingQuestion(id: 258, device: Self.device, name: "A", number: 999_999)
    #expect(
      BluetoothReport.pairingAsked(question).bytes
        == [8, 2, 1, 0, 0, 0x42, 0, 0, 1, 0xAA, 0, 1, 65, 1, 0x3F, 0x42, 0x0F, 0, 0xA8, 0x61])
    #expect(BluetoothReport.pairingEnded(id: 1, .timedOut).bytes == [9, 1, 0, 0, 0, 3])
    #expect(BluetoothCommand.answerPairing(id: 3, isAccepted: true).bytes == [6, 3, 0, 0, 0, 1])
  }

  @Test func `Values outside of their ranges are no packets`() {
    #expect(BluetoothCommand([2, 0]) == nil && BluetoothCommand([2, BluetoothCommand.unitsMax + 1]) == nil)
    #expect(BluetoothCommand([0]) == nil && BluetoothCommand([7]) == nil && BluetoothCommand([]) == nil)
    let serve = BluetoothCommand.serve(Self.host, adapter: "hci0").bytes
    #expect(BluetoothCommand(serve.dropLast() + [UInt8(ascii: "/")]) == nil)
    #expect(BluetoothCommand(serve.prefix(17) + [16] + [UInt8](repeating: 97, count: 16)) == nil)
    #expect(BluetoothReport([1, 7, 0]) == nil && BluetoothReport([3, 2]) == nil && BluetoothReport([10]) == nil)
    // Hosts of a device that has not answered, and too many of one that has.
    let searched = BluetoothReport.searched(Self.device, from: Self.adapter, nil).bytes
    #expect(BluetoothReport(searched.dropLast() + [1] + [UInt8](repeating: 0, count: 16)) == nil)
    let many = [HostID](repeating: Self.host, count: BluetoothReport.hostsMax + 1)
    #expect(BluetoothReport(BluetoothReport.searched(Self.device, from: Self.adapter, many).bytes) == nil)
    // A device that no adapter has found, or more than there are.
    let adapters = [BluetoothAddress](repeating: Self.adapter, count: BluetoothState.adaptersMax + 1)
    for adapters in [[], adapters] {
      #expect(BluetoothReport(BluetoothReport.seen(Self.device, deviceClass: 0, at: adapters).bytes) == nil)
    }
    #expect(BluetoothReport([UInt8](repeating: 1, count: BluetoothReport.bytesMax + 1)) == nil)
    // A number with seven digits, one where there is none, a name that is too long or no text, more time than there is, and no
    // end that there is.
    let asked = BluetoothReport.pairingAsked(PairingQuestion(id: 1, device: Self.device, name: "A", number: 0)).bytes
    #expect(BluetoothReport(asked) != nil)
    #expect(BluetoothReport(asked.prefix(14) + [0x40, 0x42, 0x0F, 0, 0, 0]) == nil)
    #expect(BluetoothReport(asked.prefix(13) + [0, 1, 0, 0, 0, 0, 0]) == nil)
    #expect(BluetoothReport(asked.dropLast(2) + [0xA9, 0x61]) == nil)
    #expect(BluetoothReport(asked.prefix(12) + [0xFF] + asked.suffix(7)) == nil)
    let long = PairingQuestion(
      id: 1, device: Self.device, name: String(repeating: "a", count: PairingQuestion.nameBytesMax + 1), number: 0)
    #expect(BluetoothReport(BluetoothReport.pairingAsked(long).bytes) == nil)
    for end: UInt8 in [0, 5, 255] { #expect(BluetoothReport([9, 1, 0, 0, 0, end]) == nil) }
    #expect(BluetoothCommand([6, 1, 0, 0, 0, 2]) == nil)
  }

  /// A packet that is read has one form, and is within its limits.
  private func check(_ bytes: [UInt8]) -> Bool {
    let (command, report) = (BluetoothCommand(bytes), BluetoothReport(bytes))
    if let command { #expect(command.bytes == bytes && bytes.count <= BluetoothCommand.bytesMax) }
    if let report { #expect(report.bytes == bytes && bytes.count <= BluetoothReport.bytesMax) }
    switch report {
    case .state(let state)?: #expect(state.addresses.count <= BluetoothState.adaptersMax)
    case .seen(_, _, let adapters)?: #expect((1...BluetoothState.adaptersMax).contains(adapters.count))
    case .searched(_, _, let hosts?)?: #expect(hosts.count <= BluetoothReport.hostsMax)
    default: break
    }
    return command != nil || report != nil
  }

  @Test func `Random bytes are read without a crash`() {
    var random = SeededRandom(seed: 41)
    var read = 0
    for _ in 0..<20_000 {
      let kind = UInt8.random(in: 0...11, using: &random)
      let bytes =
        [kind] + (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if check(bytes) { read += 1 }
    }
    #expect(read > 100)
  }

  @Test func `Packets with random faults are read without a crash, and within their limits`() {
    var random = SeededRandom(seed: 42)
    let many = [HostID](repeating: Self.host, count: BluetoothReport.hostsMax)
    let devices = [BluetoothAddress](repeating: Self.device, count: BluetoothState.adaptersMax)
    let longest: [BluetoothReport] = [
      .searched(Self.device, from: Self.adapter, many), .state(BluetoothState(addresses: devices)),
    ]
    let packets = Self.commands.map(\.bytes) + (Self.reports + longest).map(\.bytes)
    var read = 0
    for number in 0..<40_000 {
      var bytes = packets[number % packets.count]
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = .random(in: 0...255, using: &random)
        // The lengths and kinds that are next to a legal one.
        case 1: bytes[place] &+= 1
        case 2: if bytes.count > 1 { bytes.remove(at: place) }
        case 3: bytes.insert(.random(in: 0...255, using: &random), at: place)
        default: bytes += bytes.suffix(16)
        }
      }
      if check(bytes) { read += 1 }
    }
    #expect(read > 1_000)
  }

  @Test func `An address has one text`() {
    #expect(Self.device.text == "00aa01000042" && Self.device.description == "00:AA:01:00:00:42")
    #expect(BluetoothAddress(text: "00aa01000042") == Self.device)
    for text in ["00AA01000042", "0aa01000042", "00aa010000420", "+0aa01000042", "00aa0100004g", ""] {
      #expect(BluetoothAddress(text: text) == nil)
    }
  }
}
