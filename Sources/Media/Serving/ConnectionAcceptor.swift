public import Reactor

/// Accepts all connections to a host's port, and gives those that are links back.
public protocol ConnectionAcceptor: AnyObject {
  func take(_ socket: consuming Descriptor)

  /// The host stops: all connections that were not given back end.
  func close()
}
