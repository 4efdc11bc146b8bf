public import Reactor
public import Wire

/// A service discovery backend, where hosts announce themselves and find each other: a daemon on the LAN (DNS-SD), a
/// list of addresses, a radio.
///
/// It belongs to its reactor's thread. Its events come on the loop, and never from within a call of it. Its backend may
/// come and go: requests stand, and are repeated when it is back.
public protocol Directory: AnyObject {
  /// Announces a record, or changes the one of the same key that is announced.
  func publish(_ record: ServiceRecord)
  func withdraw(_ key: ServiceRecord.Key)
  /// Reports the records of a type from now on, this host's own too; their strings say whose they are.
  func browse(for type: ServiceType)
  /// Stops browsing; visible records are reported as gone.
  func stopBrowsing(for type: ServiceType)
  /// Another host answers at this address than the one that was seen there.
  func doubt(_ address: SocketAddress)
  /// Withdraws everything, and reports nothing more.
  func close()
}

extension Directory {
  /// Nothing to do in a directory in which hosts report themselves.
  public func doubt(_ address: SocketAddress) {}
}

public enum DirectoryEvent: Hashable, Sendable {
  /// It works. Reported at first, and after each `unavailable`.
  case available
  /// It does not work now; visible records stay. Reported when that begins and when its reason changes.
  case unavailable(Trouble)
  /// The record is announced, under an instance name that is not always the requested one.
  case published(ServiceRecord.Key, as: String)
  /// The record is not announced, while the directory as such works; it is tried again.
  case notPublished(ServiceRecord.Key, Trouble)
  /// The type is being browsed.
  case looking(ServiceType)
  /// The type is not browsed, while the directory as such works; it is tried again.
  case notLooking(ServiceType, Trouble)
  case appeared(SeenID, SeenRecord)
  case changed(SeenID, SeenRecord)
  case gone(SeenID)
}

/// A problem and its remedy: a sentence each.
public struct Trouble: Error, Hashable, Sendable, CustomStringConvertible {
  public let cause: String
  public let cure: String

  public init(cause: String, cure: String) {
    self.cause = cause
    self.cure = cure
  }

  public var description: String { "\(cause) \(cure)" }

  /// As one sentence, without its full stops.
  public var sentence: String {
    let parts = [cause, cure].map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
    return "\(parts[0]): \(parts[1].prefix(1).lowercased())\(parts[1].dropFirst())"
  }
}
