package import Engine
package import Media
internal import Reactor
package import Store
package import Wire

/// What a host carries for a program of this package: peers of others, and what is kept with what the host keeps.
package struct HostExtension: Sendable {
  /// The host's store too, which is closed with the host.
  package var writer: Writer
  package var peers: [(key: SigningKey, name: String)]
  package var observer: any TransactionObserver

  package init(_ writer: Writer, peers: [(key: SigningKey, name: String)], _ observer: any TransactionObserver) {
    self.writer = writer
    self.peers = peers
    self.observer = observer
  }
}

/// Told on the host's loop of what belongs to the engine's next batch; what it notes meanwhile is stored with that, or
/// neither is.
package protocol TransactionObserver: AnyObject, Sendable {
  func heard(_ message: Message, in session: EndpointID)
  /// What became of what was dispatched under this number.
  func settled(_ message: UInt64, for recipients: [EndpointID], _ fate: DeliveryStatus, in session: EndpointID)
  /// How a resource has ended, and where it lies if it came whole.
  func ended(_ resource: UInt64, _ reason: Reason, at path: String?)
  /// All that is to be stored by now.
  func takePendingWrites() -> [PendingWrite]
}

/// A change that is stored with what the engine says. It may be run more than once, and changes the database alone.
package struct PendingWrite {
  package var change: @Sendable (Database) throws -> Void
  /// Whether it is stored, or never will be.
  package var settle: (_ isStored: Bool) -> Void

  package init(
    _ change: @escaping @Sendable (Database) throws -> Void, settle: @escaping (_ isStored: Bool) -> Void = { _ in }
  ) {
    self.change = change
    self.settle = settle
  }
}

/// On the host's loop.
extension Host {
  package static func start(_ options: HostOptions, carrying hostExtension: HostExtension) async throws(NearbyError)
    -> Host
  {
    try await start(options, carrying: Optional(hostExtension))
  }

  /// What a start needs besides a store, for who must not change that in vain: the keys, and a port that nobody has.
  package static func prepare(_ options: HostOptions) throws(NearbyError) -> KeyStore {
    do {
      let keys = try KeyStore(options.keys)
      let (places, port) = try options.listened
      if options.sockets.isEmpty, port != 0 {
        do throws(SystemError) {
          try LAN.expectFree(port: port, at: places)
        } catch {
          throw NearbyError(error, listeningAt: places, port: port)
        }
      }
      return keys
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  package static func start(
    _ options: HostOptions, prepared keys: KeyStore, carrying hostExtension: HostExtension?
  ) async throws(NearbyError) -> Host {
    try await start(options, with: keys, carrying: hostExtension)
  }

  /// Whether the store takes nothing, so that what is noted waits.
  package var storeIsFailing: Bool { loop.driverHere?.writes.isFailing ?? false }

  /// What the body makes happen, and what is noted by its end, is stored as one.
  package func inTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    guard let driver = loop.driverHere else { throw NearbyError.closed }
    return try driver.inTransaction(body)
  }
}

/// On the host's loop.
extension Session {
  /// Gives it to the engine at once, or not at all: `unavailable` where a member is behind. Its fate is told to the host's
  /// witness, by this number, where it is wanted.
  package func dispatch(
    _ bytes: [UInt8], contentType: String? = nil, to recipients: Recipients = .all, _ mode: Mode, wantsFate: Bool
  ) throws(NearbyError) -> UInt64 {
    guard let driver = loop.driverHere else { throw .closed }
    return try driver.dispatch(bytes, contentType, from: id, to: recipients, mode, wantsFate)
  }
}

extension IncomingResource {
  /// By which the host's witness is told of it, also after a restart.
  package var number: UInt64 { state.id.rawValue }
}

extension OutgoingResource {
  /// By which the host's witness is told of it, also after a restart.
  package var number: UInt64 { state.id.rawValue }
}
