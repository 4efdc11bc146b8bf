internal import Glibc
internal import Reactor

/// Whether a host can have the port that it is to have, which it needs for links (TCP) and for probes (UDP) alike.
package enum PortCheck {
  /// A port of 0 stands for one that is chosen at each start.
  package static func findings(_ port: UInt16) -> [Finding] {
    if port == 0 { return [Finding(.port, .good, "A host takes a free port at each start.")] }
    let findings = ["TCP", "UDP"].compactMap { transport in
      refusal(of: transport, port).map { finding($0, transport, port) }
    }
    return findings.isEmpty ? [Finding(.port, .good, "Port \(port) is free for TCP and UDP.")] : findings
  }

  private static func refusal(of transport: String, _ port: UInt16) -> SystemError? {
    for place in [SocketAddress.anyV4(port: port), .anyV6(port: port)] {
      do throws(SystemError) {
        _ = transport == "TCP" ? try Descriptor.listening(at: place) : try Descriptor.datagrams(at: place)
      } catch {
        // A machine may do without IPv6.
        if error.code != EAFNOSUPPORT, error.code != EADDRNOTAVAIL { return error }
      }
    }
    return nil
  }

  private static func finding(_ refusal: SystemError, _ transport: String, _ port: UInt16) -> Finding {
    let another = "choose another port with --port, or none for a free one."
    guard refusal.code == EADDRINUSE else {
      let why = String(cString: strerror(refusal.code))
      return Finding(
        .port, .bad, "This user may not have port \(port) (\(transport)): \(why).",
        cure: "Ports below 1024 are for root: \(another)")
    }
    let look = "ss -lnp --\(transport.lowercased()) 'sport = :\(port)'"
    guard let holder = holder(of: transport, port) else {
      return Finding(
        .port, .bad,
        "Port \(port) (\(transport)) is taken by another program of this machine, so no host starts there.",
        cure: "Stop that one ('sudo \(look)' says which it is), or \(another)")
    }
    if holder.name == "vicinity" {
      return Finding(
        .port, .doubtful, "Port \(port) (\(transport)) is held by a host that runs already: process \(holder.process).",
        cure: "If that is the one you mean, all is well. For a second one, \(another)")
    }
    return Finding(
      .port, .bad,
      "Port \(port) (\(transport)) is taken by \(holder.name), process \(holder.process): no host starts there.",
      cure: "Stop that one, or \(another)")
  }

  /// Of others' programs root alone is told.
  private static func holder(of transport: String, _ port: UInt16) -> (name: String, process: String)? {
    let question = ["-Hlnp", "--\(transport.lowercased())", "sport = :\(port)"]
    guard let (code, text) = Tool.run("ss", question), code == 0 else { return nil }
    return holder(in: text)
  }

  /// As in `users:(("sshd",pid=812,fd=3))`.
  static func holder(in text: String) -> (name: String, process: String)? {
    guard let users = text.ranges(of: "users:((\"").first else { return nil }
    let fields = text[users.upperBound...].split(separator: ",", maxSplits: 2)
    guard fields.count > 1, fields[0].hasSuffix("\""), fields[1].hasPrefix("pid=") else { return nil }
    return (String(fields[0].dropLast()), String(fields[1].dropFirst("pid=".count)))
  }
}
