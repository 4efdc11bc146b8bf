public import Reactor
public import Wire

/// Where hosts announce themselves and find each other: a daemon on the LAN, a list of addresses, a radio.
///
/// It belongs to its reactor's thread. What it has to tell it tells on the loop, and never from within a call of it.
/// Whatever it stands on may come and go: what was asked for stays asked for, and is done again by itself.
public protocol Directory: AnyObject {
  /// Announces a record, or changes the one of the same key that is announced.
  func publish(_ record: ServiceRecord)
  func withdraw(_ key: ServiceRecord.Key)
  /// Tells of the records of a type from now on, this host's own too: who they are of, their strings say.
  func browse(for type: ServiceType)
  /// Tells no more of them; those that were seen are told gone.
  func stopBrowsing(for type: ServiceType)
  /// Another host answers at this address than the one that was seen there.
  func doubt(_ address: SocketAddress)
  /// Withdraws everything, and tells nothing more.
  func close()
}

extension Directory {
  /// Where hosts speak for themselves, they will say so.
  public func doubt(_ address: SocketAddress) {}
}

public enum DirectoryEvent: Hashable, Sendable {
  /// It works. Told at first, and after each `unavailable`.
  case available
  /// It does not work now; what was seen stands. Told when that begins and when its reason changes.
  case unavailable(Trouble)
  /// The record is announced, under an instance name that is not always the one that was asked for.
  case published(ServiceRecord.Key, as: String)
  /// The record is not announced, while the directory as such works; it is tried again.
  case notPublished(ServiceRecord.Key, Trouble)
  /// The type is looked for.
  case looking(ServiceType)
  /// The type is not looked for, while the directory as such works; it is tried again.
  case notLooking(ServiceType, Trouble)
  case appeared(SeenID, SeenRecord)
  case changed(SeenID, SeenRecord)
  case gone(SeenID)
}

/// What is wrong, and what a person can do about it: a sentence each.
public struct Trouble: Error, Hashable, Sendable, CustomStringConvertible {
  public let cause: String
  public let cure: String

  public init(cause: String, cure: String) {
    self.cause = cause
    self.cure = cure
  }

  public var description: String { "\(cause) \(cure)" }
}
