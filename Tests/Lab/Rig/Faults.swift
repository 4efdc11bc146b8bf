/// All that is wrong with a cable.
struct Faults: Hashable, Sendable {
  enum Port: Hashable, Sendable, CustomStringConvertible {
    case tcp(UInt16)
    case udp(UInt16)
    /// Every datagram, to whatever port.
    case everyUDP

    var description: String {
      switch self {
      case .tcp(let number): "tcp \(number)"
      case .udp(let number): "udp \(number)"
      case .everyUDP: "udp"
      }
    }
  }

  /// No signal on the cable, which the host sees.
  var isCut = false
  /// The share of packets that is lost on the way from the host, which the host does not see.
  var lossOut = 0.0
  /// And on the way to it.
  var lossIn = 0.0
  /// The rate in each direction; nil if the cable is as fast as the machine.
  var bytesPerSecondMax: Int?
  /// Packets from or to these ports are lost.
  var blocked: Set<Port> = []
  /// The host reaches none that is isolated as well, as on a network that keeps its clients apart.
  var isIsolated = false

  static let none = Faults()
  static let cut = Faults(isCut: true)

  static func loss(_ share: Double) -> Faults { Faults(lossOut: share, lossIn: share) }
}

extension Faults {
  /// The input for nftables at the switch's port; all rules at a time, and none if nothing is lost.
  func rules(at port: String) -> String {
    // It is there before it is deleted, whether it was or not.
    let old = "table netdev \(port)\ndelete table netdev \(port)\n"
    let (out, into) = (rules(losing: lossOut), rules(losing: lossIn))
    if out.isEmpty, into.isEmpty { return old }
    return old + """
      table netdev \(port) {
        chain out {
          type filter hook ingress device "\(port)" priority 0
          \(out.joined(separator: "\n    "))
        }
        chain into {
          type filter hook egress device "\(port)" priority 0
          \(into.joined(separator: "\n    "))
        }
      }

      """
  }

  private func rules(losing share: Double) -> [String] {
    let ports = blocked.sorted { "\($0)" < "\($1)" }.flatMap { port -> [String] in
      switch port {
      case .tcp(let number): ["tcp dport \(number) drop", "tcp sport \(number) drop"]
      case .udp(let number): ["udp dport \(number) drop", "udp sport \(number) drop"]
      case .everyUDP: ["meta l4proto udp drop"]
      }
    }
    let perMyriad = Int((share * 10_000).rounded())
    if perMyriad == 0 { return ports }
    return ports + [perMyriad >= 10_000 ? "drop" : "numgen random mod 10000 < \(perMyriad) drop"]
  }

  /// The arguments of tc that limit the rate of a device.
  func shaping(of device: String) -> [String] {
    guard let rate = bytesPerSecondMax else { return ["qdisc", "delete", "dev", device, "root"] }
    // A bucket that a hundredth of a second fills, and room for a tenth: about what a cheap switch has.
    return ["qdisc", "replace", "dev", device, "root", "tbf", "rate", "\(rate)bps"]
      + ["burst", "\(max(16 << 10, rate / 100))", "latency", "100ms"]
  }
}
