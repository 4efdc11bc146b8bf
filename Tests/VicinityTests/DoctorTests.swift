import Glibc
import Testing

import struct Reactor.SocketAddress

@testable import Nearby
@testable import vicinity

@Suite struct DoctorTests {
  // MARK: The packet filter

  private func rules(_ lines: String..., policy: String = "accept", more: String = "") -> Ruleset {
    Ruleset(
      """
      table inet filter {
      \tchain input {
      \t\ttype filter hook input priority filter; policy \(policy);
      \(lines.map { "\t\t\($0)" }.joined(separator: "\n"))
      \t}
      \(more)
      \tchain output {
      \t\ttype filter hook output priority filter; policy drop;
      \t}
      }
      """)
  }

  private func isOpen(_ rules: Ruleset, _ transport: String = "udp", _ port: UInt16 = 5353) -> Bool {
    rules.answer(transport, port, at: .input) == .passes
  }

  @Test func `Without rules, and with a policy that accepts, packets pass`() {
    #expect(Ruleset("").isEmpty)
    #expect(isOpen(Ruleset("")))
    #expect(!rules().isEmpty)
    #expect(isOpen(rules()))
    #expect(isOpen(rules("ct state invalid drop", "tcp dport 22 accept")))
  }

  @Test func `What drops by default drops what no rule lets in`() {
    let closed = rules(
      "ct state established,related accept", "iif \"lo\" accept", "tcp dport 22 accept", policy: "drop")
    #expect(closed.answer("udp", 5353, at: .input) == .dropped(chain: "inet filter input", by: "policy drop"))
    #expect(closed.answer("tcp", 7777, at: .input) == .dropped(chain: "inet filter input", by: "policy drop"))
    #expect(isOpen(closed, "tcp", 22))
    #expect(!isOpen(closed, "udp", 22))
    for rule in [
      "udp dport 5353 accept", "udp dport mdns accept", "udp dport { 53, 5353 } counter packets 3 bytes 99 accept",
      "udp dport 5000-6000 accept", "th dport 5353 accept", "ip daddr 224.0.0.251 udp dport 5353 accept",
      "iifname \"eth0\" accept", "meta l4proto udp accept", "counter packets 1 bytes 2 accept",
    ] {
      #expect(isOpen(rules(rule, policy: "drop")), "\(rule)")
    }
  }

  @Test func `A rule that drops a port is named`() {
    for rule in ["udp dport 5353 drop", "udp dport { 5353, 7777 } reject", "drop", "counter packets 0 bytes 0 reject"] {
      #expect(rules(rule).answer("udp", 5353, at: .input) == .dropped(chain: "inet filter input", by: rule))
    }
    #expect(isOpen(rules("udp dport 5353 accept", "drop")))
    #expect(!isOpen(rules("drop", "udp dport 5353 accept")))
    // One that may hold for some senders only is not said to shut the port.
    #expect(
      isOpen(
        rules("ip saddr 10.0.0.0/8 drop", "iifname \"docker0\" udp dport 5353 drop", "icmp type echo-request drop")))
  }

  @Test func `What this host may not send is told apart from what does not come in`() {
    let listing = { (rule: String) in
      "table inet filter {\nchain output {\ntype filter hook output priority filter; policy accept;\n\(rule)\n}\n}"
    }
    let shut = Ruleset(listing("udp dport 5353 drop"))
    #expect(!shut.isEmpty)
    #expect(shut.answer("udp", 5353, at: .output) == .dropped(chain: "inet filter output", by: "udp dport 5353 drop"))
    #expect(isOpen(shut))
    #expect(Ruleset(listing("oif \"lo\" drop")).answer("udp", 5353, at: .output) == .passes)
    #expect(rules().answer("udp", 5353, at: .output) == .dropped(chain: "inet filter output", by: "policy drop"))
  }

  @Test func `Jumps to other chains are followed, and loops of them end`() {
    let more = "\tchain ours {\n\t\tudp dport 5353 accept\n\t\tjump ours\n\t}"
    #expect(isOpen(rules("jump ours", policy: "drop", more: more)))
    #expect(!isOpen(rules("jump ours", policy: "drop", more: more), "tcp", 7777))
    #expect(!isOpen(rules("jump theirs", policy: "drop", more: more)))
    let shut = "\tchain ours {\n\t\tdrop\n\t}"
    #expect(
      rules("jump ours", more: shut).answer("udp", 1, at: .input) == .dropped(chain: "inet filter ours", by: "drop"))
    #expect(isOpen(rules("iifname \"docker0\" jump ours", more: shut)))
  }

  // MARK: The keys

  @Test func `Keys that are damaged, or held by a program that runs, are told with the cure, and all else as well`()
    throws
  {
    let folder = TemporaryFolder()
    _ = try folder.write(Array("garbage\n".utf8), to: "keys")
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
    for code in [EACCES, EPERM, EPROTO] {
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

  @Test func `A call to the bus is written as its specification says`() {
    let bytes = BusMessage.encode(
      serial: 1, to: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
      member: "Hello", [])
    let text: (String) -> [UInt8] = { [UInt8($0.utf8.count), 0, 0, 0] + Array($0.utf8) + [0] }
    let path: [UInt8] = [1, 1, 0x6F, 0] + text("/org/freedesktop/DBus") + [0, 0]
    let interface: [UInt8] = [2, 1, 0x73, 0] + text("org.freedesktop.DBus") + [0, 0, 0]
    let member: [UInt8] = [3, 1, 0x73, 0] + text("Hello") + [0, 0]
    let destination: [UInt8] = [6, 1, 0x73, 0] + text("org.freedesktop.DBus") + [0, 0, 0]
    #expect(bytes == [0x6C, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 109, 0, 0, 0] + path + interface + member + destination)
  }

  /// An answer of the bus, which has no field but the number of the call.
  private func answer(to serial: UInt8, type: UInt8 = 2, body: [UInt8]) -> [UInt8] {
    [0x6C, type, 1, 1, UInt8(body.count), 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 5, 1, 0x75, 0, serial, 0, 0, 0] + body
  }

  @Test func `Answers of the bus are read, whatever comes between and however it comes apart`() {
    let signal: [UInt8] = answer(to: 7, type: 4, body: [1, 2, 3])
    let bytes = signal + answer(to: 7, body: [1, 0, 0, 0])
    for count in 0..<bytes.count { #expect(BusMessage.answer(to: 7, in: Array(bytes[..<count])) == nil) }
    #expect(BusMessage.answer(to: 7, in: bytes)?.0 == .returned([1, 0, 0, 0]))
    #expect(BusMessage.answer(to: 7, in: bytes)?.1 == bytes.count)
    #expect(BusMessage.answer(to: 8, in: bytes) == nil)
    #expect(BusMessage.text([2, 0, 0, 0, 0x68, 0x69, 0]) == "hi")
    #expect(BusMessage.text([9, 0, 0, 0, 0x68]) == nil)
  }

  @Test func `Garbage from the bus is no answer`() {
    var state: UInt64 = 3
    for _ in 0..<20_000 {
      var bytes = answer(to: 1, body: [1, 0, 0, 0])
      for _ in 0..<3 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes[Int(state >> 33) % bytes.count] = UInt8(truncatingIfNeeded: state >> 50)
      }
      _ = BusMessage.answer(to: 1, in: bytes)
    }
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

  @Test func `Who is heard, and who is not, is told with what to do`() {
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
    // What is stored is a gateway's own to say.
    for check in Finding.Check.allCases where check != .storage {
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
