internal import Programs
internal import Report

/// Measures a gateway as its clients see it, beside servers that do a part of it: each in processes of its own, over the loopback, by
/// turns, and of several runs the median.
struct Suite {
  enum Part: String, CaseIterable {
    case rest, fanout, kept, idle, relay, files, rooms, arrival, instructions, memory, crowd, crowds, history, crowded

    /// Measurements that take minutes are made only on request.
    static let usual = allCases.filter { ![.memory, .crowd, .crowds, .history, .crowded].contains($0) }
  }

  var table = Table()
  let place: WorkPlace
  let ports = Ports()
  /// How long a crowd is measured without those who do not keep up, and as long with them.
  var crowdedTime = 20
  /// How many peers a crowd has, one crowd after the other.
  var crowdSizes = Self.crowdSizesUsual
  /// How many peers the crowds of several gateways have together.
  var crowdsSize = Self.crowdsSizeUsual

  init() throws { place = try WorkPlace() }

  var others: OtherServers { OtherServers(folder: place.folder, ports: ports) }

  mutating func run(_ part: Part) throws {
    switch part {
    case .rest: try rest()
    case .fanout: try fanout()
    case .kept:
      try kept()
      try fanoutKept()
    case .idle: try idle()
    case .relay: try relay()
    case .files: try files()
    case .rooms: try rooms()
    case .arrival: try arrival()
    case .instructions: try instructions()
    case .memory: try memory()
    case .crowd: try crowd()
    case .crowds: try crowds()
    case .history: try history()
    case .crowded: try crowded()
    }
  }

  func gateway(_ name: String) throws -> GatewayUnderTest {
    try GatewayUnderTest(name, port: ports.next(), at: [], in: place.folder)
  }

  /// Two gateways that know each other, and a session that goes over both.
  func pair(in place: WorkPlace) throws -> (
    from: GatewayUnderTest, sending: String, to: GatewayUnderTest, receiving: String, member: String
  ) {
    let (first, second) = (ports.next(), ports.next())
    // They would take up again what others of their names have begun in the same folder.
    let folder = "\(place.folder)/\(first)"
    let from = try GatewayUnderTest("ada", port: first, at: [second], in: folder)
    let to = try GatewayUnderTest("bob", port: second, at: [first], in: folder)
    let sending = try from.session("Ada", "bench")
    let receiving = try to.session("Bob", "bench")
    _ = try to.waitForMember(of: receiving)
    return (from, sending, to, receiving, try from.waitForMember(of: sending))
  }
}

extension GatewayUnderTest {
  /// How far a channel is.
  func position(of channel: String) throws -> String { try text("position", "GET", "\(channel)?limit=1") }
}

/// The words that a program prints once it has worked for so long.
func words(_ command: [String], after seconds: Int = 0) throws -> [Substring] {
  let line = try Child(command).line(within: seconds + 120)
  let words = line.split(separator: " ")
  guard words.first != "failed:" else { throw Failure("\(command[1]): \(line)") }
  return words
}
