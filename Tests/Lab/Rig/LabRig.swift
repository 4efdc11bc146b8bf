internal import Glibc

/// A rig for use by hand: says how to get into each host, and does what is said to its cables until its input ends.
@main
enum LabRig {
  static func main() async {
    do {
      let rig = try await Rig.start(hosts: try hostCount())
      await introduce(rig)
      while let line = readLine(), line != "quit" {
        do {
          try await obey(line, rig)
        } catch {
          print("refused: \(error)")
          fflush(nil)
        }
      }
      try await rig.close()
    } catch {
      print("failed: \(error)")
    }
  }

  private static func hostCount() throws -> Int {
    let word = CommandLine.arguments.dropFirst().first ?? "2"
    guard let count = Int(word), (1...Rig.hostsMax).contains(count) else {
      throw LabError("'\(word)' is no number of hosts: 1 to \(Rig.hostsMax)")
    }
    return count
  }

  @Laboratory
  private static func introduce(_ rig: Rig) {
    for host in rig.hosts { print("\(host.name)  \(host.cable.addresses.joined(separator: "  "))\n    \(host.door)") }
    print(
      """
      Say here: cut h1 · mend h1 · loss h1 10 (percent) · rate h1 125000 (bytes a second) · block h1 udp 5353 · \
      isolate h1 · address h1 10.77.0.99/24 · kill h1 · boot h1 · avahi h1 stop · avahi h1 start · quit
      """)
    // The output is flushed, since its reader may be a program, and a pipe is buffered.
    fflush(nil)
  }

  @Laboratory
  private static func obey(_ line: String, _ rig: Rig) async throws {
    let words = line.split(separator: " ").map(String.init)
    guard words.count > 1, let host = rig.hosts.first(where: { $0.name == words[1] }) else {
      throw LabError("'\(line)' is no command for one of the hosts")
    }
    var faults = host.isUp ? host.cable.faults : .none
    switch (words[0], words.dropFirst(2).first, words.dropFirst(3).first) {
    case ("mend", nil, _): faults = .none
    case ("cut", nil, _): faults.isCut = true
    case ("isolate", nil, _): faults.isIsolated = true
    case ("loss", let percent?, _): (faults.lossOut, faults.lossIn) = try (share(percent), share(percent))
    case ("rate", let rate?, _): faults.bytesPerSecondMax = try number(rate)
    case ("block", "udp"?, let port?): faults.blocked.insert(.udp(UInt16(clamping: try number(port))))
    case ("block", "tcp"?, let port?): faults.blocked.insert(.tcp(UInt16(clamping: try number(port))))
    case ("address", let address?, _): try await host.cable.change(host.cable.addresses[0], to: address)
    case ("kill", nil, _): return try await host.kill()
    case ("boot", nil, _): return try await host.boot()
    case ("avahi", "stop"?, _): try await host.stopAvahi()
    case ("avahi", "start"?, _): try await host.startAvahi()
    default: throw LabError("'\(line)' is no command")
    }
    try await host.cable.set(faults)
  }

  private static func share(_ percent: String) throws -> Double { Double(try number(percent)) / 100 }

  private static func number(_ word: String) throws -> Int {
    guard let number = Int(word), number > 0 else { throw LabError("'\(word)' is no number over 0") }
    return number
  }
}
