import Glibc
import Notation
import TestKit
import Testing

import class Reactor.Reactor
import struct Reactor.SocketAddress

@testable import Nearby
@testable import vicinity

@Suite(.ownThread) struct DoctorTests {
  // MARK: The packet filter

  /// As `nft --json` shows a match of a field of the packet, a verdict, and a chain with its rules.
  private func payload(_ name: String, _ field: String, _ right: JSON, op: JSON = "==") -> JSON {
    ["match": ["op": op, "left": ["payload": ["protocol": .text(name), "field": .text(field)]], "right": right]]
  }

  private func port(_ transport: String, _ right: JSON, op: JSON = "==") -> JSON {
    payload(transport, "dport", right, op: op)
  }

  private func meta(_ key: String, _ right: JSON) -> JSON {
    ["match": ["op": "==", "left": ["meta": ["key": .text(key)]], "right": right]]
  }

  private func state(_ right: JSON) -> JSON {
    ["match": ["op": "in", "left": ["ct": ["key": "state"]], "right": right]]
  }

  private let accept: JSON = ["accept": nil]
  private let drop: JSON = ["drop": nil]
  private let reject: JSON = ["reject": nil]
  private let counter: JSON = ["counter": ["packets": 3, "bytes": 99]]

  private func chain(_ name: String, _ rules: [[JSON]], hook: String? = nil, policy: String = "accept") -> [JSON] {
    var chain: [JSON.Member] = [.init("family", "inet"), .init("table", "filter"), .init("name", .text(name))]
    if let hook { chain += [.init("type", "filter"), .init("hook", .text(hook)), .init("policy", .text(policy))] }
    return [["chain": .object(chain)]]
      + rules.enumerated().map { number, rule in
        [
          "rule": [
            "family": "inet", "table": "filter", "chain": .text(name), "handle": .number(number + 4),
            "expr": .list(rule),
          ]
        ]
      }
  }

  private func ruleset(_ items: [JSON]) throws -> Ruleset {
    try #require(Ruleset(JSON.object([.init("nftables", .list([["metainfo": ["version": "1.0.6"]]] + items))]).line))
  }

  private func rules(_ rules: [JSON]..., policy: String = "accept", more: [JSON] = []) throws -> Ruleset {
    try ruleset(
      chain("input", rules, hook: "input", policy: policy) + more
        + chain("output", [], hook: "output", policy: "drop"))
  }

  private func isOpen(_ rules: Ruleset, _ transport: String = "udp", _ port: UInt16 = 5353) -> Bool {
    rules.answer(transport, port, at: .input) == .passes
  }

  @Test func `Without rules, and with a policy that accepts, packets pass`() throws {
    #expect(try ruleset([]).isEmpty)
    #expect(try isOpen(ruleset([])))
    #expect(try !rules().isEmpty)
    #expect(try isOpen(rules()))
    #expect(try isOpen(rules([state("invalid"), drop], [port("tcp", 22), accept])))
    for listing in ["table inet filter {}", "", "{}"] { #expect(Ruleset(listing)?.isEmpty == nil) }
  }

  @Test func `A chain that drops by default drops packets that no rule accepts`() throws {
    let closed = try rules(
      [state(["established", "related"]), accept], [meta("iif", "lo"), accept], [port("tcp", 22), accept],
      [payload("udp", "sport", 53), ["return": nil]], policy: "drop")
    #expect(closed.answer("udp", 5353, at: .input) == .dropped(chain: "inet filter input", by: "the policy"))
    #expect(closed.answer("tcp", 7777, at: .input) == .dropped(chain: "inet filter input", by: "the policy"))
    #expect(isOpen(closed, "tcp", 22))
    #expect(!isOpen(closed, "udp", 22))
    let set: JSON = ["set": ["family": "inet", "table": "filter", "name": "open", "elem": [80, 5353]]]
    let map: JSON = [
      "vmap": [
        "key": ["payload": ["protocol": "udp", "field": "dport"]],
        "data": ["set": [[22, ["drop": nil]], [5353, ["accept": nil]]]],
      ]
    ]
    for rule in [
      [port("udp", 5353), accept], [port("udp", ["set": [53, 5353]]), counter, accept],
      [port("udp", ["range": [5_000, 6_000]]), accept], [port("th", 5353), accept],
      [port("udp", ["set": [["range": [50, 60]], ["elem": ["val": 5353, "comment": "mdns"]]]]), accept],
      [port("udp", 22, op: "!="), accept], [port("udp", "@open"), accept],
      [payload("ip", "daddr", "224.0.0.251"), port("udp", 5353), accept], [meta("iifname", "eth0"), accept],
      [meta("l4proto", "udp"), accept], [meta("l4proto", ["set": ["tcp", "udp"]]), port("th", 5353), accept],
      [payload("ip", "protocol", "udp"), accept], [counter, accept], [state("new"), accept], [map],
    ] {
      #expect(try isOpen(rules(rule, policy: "drop", more: [set])), "\(JSON.list(rule).line)")
    }
    for rule in [
      [port("udp", 5353, op: "!="), accept], [port("tcp", 5353), accept],
      [payload("icmp", "type", "echo-request"), accept],
      [meta("l4proto", "tcp"), accept], [port("udp", ["range": [6_000, 5_000]]), accept],
    ] {
      #expect(try !isOpen(rules(rule, policy: "drop")), "\(JSON.list(rule).line)")
    }
  }

  @Test func `A rule that drops a port is named`() throws {
    for rule in [
      [port("udp", 5353), drop], [port("udp", ["set": [5353, 7777]]), reject], [drop], [counter, reject],
      [state("new"), drop],
    ] {
      #expect(
        try rules(rule).answer("udp", 5353, at: .input) == .dropped(chain: "inet filter input", by: "rule 4"),
        "\(JSON.list(rule).line)")
    }
    #expect(try isOpen(rules([port("udp", 5353), accept], [drop])))
    #expect(try !isOpen(rules([drop], [port("udp", 5353), accept])))
    // One that may hold for some senders only is not said to shut the port.
    #expect(
      try isOpen(
        rules(
          [payload("ip", "saddr", ["prefix": ["addr": "10.0.0.0", "len": 8]]), drop],
          [meta("iifname", "docker0"), port("udp", 5353), drop], [payload("icmp", "type", "echo-request"), drop],
          [["limit": ["rate": 5, "per": "second"]], drop])))
  }

  @Test func `Blocked output is reported apart from blocked input`() throws {
    func out(_ rule: [JSON]) throws -> Ruleset { try ruleset(chain("output", [rule], hook: "output")) }
    let shut = try out([port("udp", 5353), drop])
    #expect(!shut.isEmpty)
    #expect(shut.answer("udp", 5353, at: .output) == .dropped(chain: "inet filter output", by: "rule 4"))
    #expect(isOpen(shut))
    #expect(try out([meta("oif", "lo"), drop]).answer("udp", 5353, at: .output) == .passes)
    #expect(try rules().answer("udp", 5353, at: .output) == .dropped(chain: "inet filter output", by: "the policy"))
  }

  @Test func `Jumps to other chains are followed, and loops of them end`() throws {
    let (ours, theirs): (JSON, JSON) = (["jump": ["target": "ours"]], ["jump": ["target": "theirs"]])
    let more = chain("ours", [[port("udp", 5353), accept], [ours]])
    #expect(try isOpen(rules([ours], policy: "drop", more: more)))
    #expect(try !isOpen(rules([ours], policy: "drop", more: more), "tcp", 7777))
    #expect(try !isOpen(rules([theirs], policy: "drop", more: more)))
    #expect(try !isOpen(rules([["goto": ["target": "ours"]], accept], policy: "drop", more: chain("ours", []))))
    let shut = chain("ours", [[drop]])
    #expect(
      try rules([ours], more: shut).answer("udp", 1, at: .input) == .dropped(chain: "inet filter ours", by: "rule 4"))
    #expect(try isOpen(rules([meta("iifname", "docker0"), ours], more: shut)))
  }

  // MARK: The keys

  @Test func `Keys that are damaged, or held by a program that runs, are told with the cure, and all else as well`()
    throws
  {
    let folder = TemporaryFolder()
    try folder.write(Array("garbage\n".utf8), to: "keys")
    chmod("\(folder.path)/keys", 0o600)
    let look = { (folder: TemporaryFolder) in
      try Program.run(
        "doctor", "--json", "--timeout", "200ms", "--discovery", "static", "--keys", folder.path)
    }
    let damaged = try look(folder)
    #expect(damaged.code == 1)
    let finding = try #require(damaged.out.split(separator: "\n").first { $0.contains(#""check":"key""#) })
    #expect(finding.contains(#""state":"bad""#) && finding.contains("damaged"), "\(finding)")
    #expect(finding.contains(#""cure":"Put back a copy"#), "\(finding)")
    #expect(damaged.out.contains(#""check":"discovery","state":"good""#))
    let fresh = TemporaryFolder()
    let store = try KeyStore(.folder(fresh.path))
    let held = try look(fresh)
    withExtendedLifetime(store) {}
    #expect(held.out.contains(#""check":"key","state":"unknown""#), "\(held.out)")
    #expect(held.out.contains(#""check":"discovery","state":"good""#))
  }

  // MARK: Containers

  @Test func `A container on a bridge, or without a network, comes with the line for compose`() throws {
    #expect(Confinement().finding.state == .good)
    #expect(Confinement(container: "podman").finding.state == .good)
    let bridged = Confinement(container: "docker", network: .bridge(interface: "eth0")).finding
    #expect(bridged.state == .doubtful && bridged.says.contains("eth0"))
    #expect(try #require(bridged.cure).contains("network_mode: host"))
    #expect(try #require(Confinement(container: "docker", network: .none).finding.cure).contains("network_mode: host"))
  }

  @Test func `A D-Bus that is missing or refuses comes with the line to add, in a container and in a unit`() throws {
    func cure(_ code: CInt, _ confinement: Confinement) throws -> String {
      let finding = DaemonCheck.broken(.init(path: "/run/dbus/system_bus_socket", code: code), confinement)
      #expect(finding.state == .bad)
      return try #require(finding.cure)
    }
    let container = Confinement(container: "docker")
    #expect(try cure(ENOENT, container).contains(#"volumes: ["/run/dbus:/run/dbus:ro"]"#))
    #expect(try cure(ENOENT, Confinement()).contains("BindReadOnlyPaths=/run/dbus"))
    for code in [EACCES, EPERM] {
      #expect(try cure(code, container).contains(#"user: "65534:65534""#))
      #expect(try cure(code, Confinement()).contains("/etc/dbus-1/system.d"))
    }
    let profiled = Confinement(container: "docker", profile: "docker-default")
    #expect(try cure(EACCES, profiled).contains(#"security_opt: ["apparmor=unconfined"]"#))
    #expect(try cure(EACCES, Confinement(profile: "vicinity")).contains("AppArmorProfile=unconfined"))
  }

  @Test func `The profile of AppArmor is read from a label of the kernel`() {
    #expect(Confinement.profile(in: "docker-default (enforce)\n") == "docker-default")
    for label in ["unconfined\n", "vicinity (complain)\n", "system_u:system_r:init_t:s0", "", "kernel"] {
      #expect(Confinement.profile(in: label) == nil, "\(label)")
    }
  }

  @Test func `A second program that answers multicast DNS is found, and a browser that listens is none`() throws {
    func line(_ address: String) -> String {
      "  12: \(address) 00000000:0000 07 00000000:00000000 00:00000000 00000000   105        0 4711 2 0 0\n"
    }
    let avahi = line("00000000:14E9")
    let others = line("FB0000E0:14E9") + line("00000000:0044")
    #expect(DaemonCheck.rivals(avahi + others, ["avahi-daemon", "chrome"]).isEmpty)
    let unseen = try #require(DaemonCheck.rivals(avahi + avahi, []).first)
    #expect(unseen.state == .doubtful && unseen.says.hasPrefix("2 programs answer") && unseen.cure != nil)
    let named = try #require(DaemonCheck.rivals(avahi + avahi, ["avahi-daemon", "mdnsd"]).first)
    #expect(named.says.hasPrefix("2 programs (mdnsd) answer"))
    let resolved = try #require(DaemonCheck.rivals(avahi + avahi, ["avahi-daemon", "systemd-resolve"]).first)
    #expect(try #require(resolved.cure).contains("MulticastDNS=resolve"))
  }

  // MARK: D-Bus

  @Test func `A bus that is missing, silent or closed to this user is told apart, and soon`() async throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/a bus"
    @Sendable func code() async -> CInt? { await BusReport.gather(from: path).failure?.code }
    #expect(await code() == ENOENT)
    let socket = try listener(at: path)
    defer { close(socket) }
    #expect(await code() == ECONNREFUSED)
    #expect(listen(socket, 4) == 0)
    // It is timed on a thread of its own, since other tests keep those of this one busy.
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    let (silent, time) = await reactor.spawn {
      let start = ContinuousClock.now
      return (await code(), ContinuousClock.now - start)
    }.value
    #expect(silent == ETIMEDOUT)
    #expect((.seconds(1) ... .seconds(10)).contains(time))
  }

  @Test(arguments: ["", "REJECTED EXTERNAL\r\n", "OK 0123456789abcdef0123456789abcdef\r\n"])
  func `A bus that disconnects refuses this user, whatever it said before`(_ answer: String) async throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/bus"
    let socket = try listener(at: path)
    defer { close(socket) }
    #expect(listen(socket, 4) == 0)
    // The bus has a thread of its own, since the check blocks.
    let bus = try Reactor()
    bus.start()
    defer { bus.stop() }
    bus.post {
      let client = Glibc.accept(socket, nil, nil)
      var bytes = [UInt8](repeating: 0, count: 4_096)
      _ = read(client, &bytes, bytes.count)
      _ = write(client, answer, answer.utf8.count)
      if answer.utf8.count > 20 { _ = read(client, &bytes, bytes.count) }
      close(client)
    }
    #expect(await BusReport.gather(from: path).failure == .init(path: path, code: EACCES))
  }

  private func listener(at path: String) throws -> CInt {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    return socket
  }

  // MARK: The network

  /// A constant of the tests that is one.
  private func address(_ text: String) -> SocketAddress { SocketAddress(text, port: 0)! }

  @Test func `The question to all hosts near by fits its packets, and names every address`() throws {
    let packets = MulticastQuestion.packets(near: try #require(SocketAddress("10.77.0.1", port: 0)))
    #expect(packets.count == 2)
    #expect(packets.allSatisfy { $0.count < 1_472 })
    #expect(packets.map { Int($0[4]) << 8 + Int($0[5]) }.reduce(0, +) == 254)
    let first: [UInt8] = Array("\u{1}1\u{1}0\u{2}77\u{2}10\u{7}in-addr\u{4}arpa\u{0}\u{0}\u{C}\u{0}\u{1}\u{1}2".utf8)
    #expect(packets[0].dropFirst(12).starts(with: first + [0xC0, 14]))
  }

  @Test func `Being on no network, without a signal or with an address of one's own making is told`() {
    #expect(InterfaceCheck.findings([]).map(\.state) == [.bad])
    let states = { (one: CheckedInterface) in InterfaceCheck.findings([one]).map(\.state) }
    #expect(states(CheckedInterface(named: "eth0", isRunning: false)) == [.doubtful, .bad])
    #expect(states(CheckedInterface(named: "eth0")) == [.doubtful, .bad])
    #expect(states(CheckedInterface(named: "eth0", addresses: [address("169.254.0.1")])) == [.doubtful])
    #expect(states(CheckedInterface(named: "eth0", addresses: [address("10.0.0.1")])) == [.good])
    #expect(states(CheckedInterface(named: "eth0", addresses: [address("fe80::1")])) == [.good])
  }

  @Test func `Hosts that are heard, and those that are not, are reported with what to do`() {
    let one = CheckedInterface(named: "eth0", addresses: [address("10.0.0.1")])
    func state(_ heard: MulticastCheck.Heard) -> Finding.State? {
      MulticastCheck.findings([heard], [one], time: .seconds(3)).first?.state
    }
    #expect(state(.init(interface: one, others: [address("10.0.0.2")])) == .good)
    #expect(state(.init(interface: one, others: [address("fe80::2")])) == .good)
    #expect(state(.init(interface: one, isSelfHeard: true)) == .doubtful)
    #expect(state(.init(interface: one, refusal: "no")) == .bad)
    let mute = CheckedInterface(named: "tun0", isMulticast: false, addresses: [address("10.0.0.1")])
    #expect(MulticastCheck.findings([], [mute], time: .seconds(3)).map(\.state) == [.bad])
  }

  @Test func `Each finding that is not well has a cure, and all are told in both forms`() throws {
    let told = try Program.run("doctor", "--json", "--timeout", "200ms", "--keys", "ephemeral", "--discovery", "static")
    #expect([0, 1].contains(told.code))
    let lines = told.out.split(separator: "\n")
    #expect(lines.last?.contains(#""event":"diagnosis""#) == true)
    // A gateway says what it stores; a folder is named by an option, radios are not on every machine, and links are there
    // with other hosts alone.
    for check in Finding.Check.allCases where ![.storage, .folder, .radio, .bluetooth, .link].contains(check) {
      #expect(told.out.contains(#""check":"\#(check.rawValue)""#), "\(check)")
    }
    for line in lines where line.contains(#""state":"bad""#) || line.contains(#""state":"doubtful""#) {
      #expect(line.contains(#""cure":""#), "\(line)")
    }
    #expect((told.code == 1) == told.out.contains(#""state":"bad""#))
    let shown = try Program.run("doctor", "--timeout", "200ms", "--keys", "ephemeral", "--discovery", "static")
    #expect(shown.code == told.code)
    for line in shown.out.split(separator: "\n") { #expect(DisplayWidth.of(line) <= 80) }
  }
}
