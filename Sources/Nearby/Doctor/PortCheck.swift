internal import Glibc
internal import Reactor

/// Checks whether a host can bind its port, for links (TCP) and for probes (UDP) alike.
package enum PortCheck {
  package enum Transport: String, CaseIterable, Sendable {
    case tcp = "TCP"
    case udp = "UDP"
  }

  /// A port of 0 stands for one that is chosen at each start.
  package static func findings(_ port: UInt16) -> [Finding] {
    if port == 0 { return [Finding(.port, .good, "A host takes a free port at each start.")] }
    let findings = Transport.allCases.compactMap { transport in
      refusal(of: transport, port).map { finding($0, transport, port) }
    }
    return findings.isEmpty ? [Finding(.port, .good, "Port \(port) is free for TCP and UDP.")] : findings
  }

  private static func refusal(of transport: Transport, _ port: UInt16) -> SystemError? {
    for place in [SocketAddress.anyV4(port: port), .anyV6(port: port)] {
      do throws(SystemError) {
        _ = transport == .tcp ? try Descriptor.listening(at: place) : try Descriptor.datagrams(at: place)
      } catch {
        // A machine may do without IPv6.
        if error.code != EAFNOSUPPORT, error.code != EADDRNOTAVAIL { return error }
      }
    }
    return nil
  }

  private static func finding(_ refusal: SystemError, _ transport: Transport, _ port: UInt16) -> Finding {
    let another = "choose another port with --port, or none for a free one."
    guard refusal.code == EADDRINUSE else {
      let why = String(cString: strerror(refusal.code))
      return Finding(
        .port, .bad, "This user may not have port \(port) (\(transport.rawValue)): \(why).",
        cure: "Ports below 1024 are for root: \(another)")
    }
    guard let holder = PortHolder(of: transport, port) else {
      return Finding(
        .port, .bad,
        "Port \(port) (\(transport.rawValue)) is taken by another program of this machine, so no host starts there.",
        cure: "Stop that one ('\(look(transport, port))' says which it is), or \(another)")
    }
    if holder.name == "vicinity" {
      return Finding(
        .port, .doubtful,
        "Port \(port) (\(transport.rawValue)) is held by a host that runs already: process \(holder.process).",
        cure: "If that is the one you mean, all is well. For a second one, \(another)")
    }
    return Finding(
      .port, .bad,
      "Port \(port) (\(transport.rawValue)) is taken by \(holder.name), process \(holder.process): no host starts there.",
      cure: "Stop that one, or \(another)")
  }

  fileprivate static func look(_ transport: Transport, _ port: UInt16) -> String {
    "sudo ss -lnp --\(transport.rawValue.lowercased()) sport = :\(port)"
  }
}

extension NearbyError {
  /// The error for a host that cannot listen, with the cause and a remedy.
  init(_ error: SystemError, listeningAt addresses: [SocketAddress], port: UInt16) {
    self.init(.unavailable, Self.sentence(error, addresses, port))
  }

  private static func sentence(_ error: SystemError, _ addresses: [SocketAddress], _ port: UInt16) -> String {
    switch error.code {
    case EADDRINUSE:
      for transport in PortCheck.Transport.allCases {
        guard let holder = PortHolder(of: transport, port) else { continue }
        return "port \(port) is in use by \(holder.name) (pid \(holder.process)): stop that or use --port"
      }
      let look = PortCheck.look(.tcp, port)
      return "port \(port) is in use by another program: '\(look)' says which; stop that or use --port"
    case EACCES, EPERM:
      return
        "port \(port) is not for this user, since those below 1024 are for root: use --port, or let systemd open it "
        + "(vicinity.socket)"
    case EADDRNOTAVAIL:
      let own = SocketAddress.own
      let foreign = addresses.filter { !$0.isAny && !own.contains($0.with(port: 0)) }
      let missing = foreign.isEmpty ? "such address" : "address \(foreign.map(\.bareText).joined(separator: ", "))"
      return "this machine has no \(missing): it has \(own.map(\.bareText).joined(separator: ", "))"
    case EMFILE, ENFILE:
      return "this \(error.code == EMFILE ? "process" : "machine") may open no more files: raise the limit "
        + "(\(error.code == EMFILE ? "ulimit -n, or LimitNOFILE of the unit" : "sysctl fs.file-max"))"
    case EAFNOSUPPORT:
      return "this machine does without the family of an address that is to be listened at: \(error)"
    default: return "\(error)"
    }
  }
}
