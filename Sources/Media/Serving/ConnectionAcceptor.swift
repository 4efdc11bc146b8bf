public import Reactor

/// Stands at a host's port before its links do: whatever connects there is the doorway's, which gives back what is a link.
public protocol ConnectionAcceptor: AnyObject {
  func take(_ socket: consuming Descriptor)

  /// The host stops: all that was not given back ends.
  func close()
}
