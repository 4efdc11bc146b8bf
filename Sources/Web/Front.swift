package import Media
package import Reactor

/// Takes the sockets that come to one port, finds out what each one is, and gives it to those who serve it: links of
/// other hosts, HTTP, WebSockets, the last two in the clear or over TLS.
///
/// It belongs to its reactor's thread.
package final class Front: Doorway {
  /// Without an identity there is no HTTPS; without `link` there are no links.
  package init(
    on reactor: Reactor, handler: any WebHandler, limits: WebLimits = WebLimits(), identity: ServerIdentity? = nil,
    link: ((consuming Descriptor) -> Void)? = nil
  ) throws(SystemError) {
    fatalError("not yet")
  }

  package func take(_ socket: consuming Descriptor) {
    fatalError("not yet")
  }

  /// Ends all connections at once.
  package func close() {
    fatalError("not yet")
  }
}
