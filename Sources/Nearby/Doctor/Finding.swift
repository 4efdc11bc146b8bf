/// The result of one check of the machine or its network.
package struct Finding: Hashable, Sendable {
  package enum State: String, CaseIterable, Sendable {
    case good
    /// It may be the cause, or nothing at all.
    case doubtful
    case bad
    /// It cannot be seen from here.
    case unknown
  }

  package enum Check: String, CaseIterable, Sendable {
    case container
    case bus
    case daemon
    case discovery
    case interfaces
    case multicast
    case port
    case firewall
    /// A folder in which hosts meet.
    case folder
    case isolation
    /// The quality of links to other hosts.
    case link
    /// Wi-Fi without an access point.
    case radio
    case bluetooth
    case key
    /// The database and files of a running gateway.
    case storage
  }

  package let check: Check
  package let state: State
  package let says: String
  /// The remedy; nil where none is needed.
  package var cure: String?

  package init(_ check: Check, _ state: State, _ says: String, cure: String? = nil) {
    self.check = check
    self.state = state
    self.says = says
    self.cure = cure
  }
}
