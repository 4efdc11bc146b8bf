package import Engine
package import Media
internal import Reactor
package import Store
package import Wire

/// An extension of a host for a program of this package: peers of others, and rows that are stored with the host's.
package struct HostExtension: Sendable {
  /// The host's store too, which is closed with the host; nil where the host's options name its store, or none.
  package var writer: Writer?
  package var peers: [(key: SigningKey, name: String)]
  package var observer: any TransactionObserver

  package init(_ writer: Writer?, peers: [(key: SigningKey, name: String)], _ observer: any TransactionObserver) {
    self.writer = writer
    self.peers = peers
    self.observer = observer
  }
}

/// Observes on the host's loop the changes in the engine's next batch; its own writes meanwhile are in the same
/// transaction. It is called while the engine's outputs are handled, and must not call the host.
package protocol TransactionObserver: AnyObject, Sendable {
  /// A message for these sessions.
  func heard(_ message: Message, in sessions: [EndpointID])
  /// An event of these sessions, which are observed: reliable messages are among them.
  func handle(_ event: SessionEvent, in sessions: [EndpointID])
  /// These members are in a new state with each of these sessions, which are observed.
  func changed(_ members: [Member], _ state: MemberState, in sessions: [EndpointID])
  /// The state of ad hoc mode in this session, which is observed.
  func adhocChanged(_ state: DiscoveryState, in session: EndpointID)
  /// This session, which is observed, has ended.
  func closed(_ session: EndpointID)
  /// The delivery status of the message that was dispatched under this number.
  func settled(_ message: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus, in session: EndpointID)
  /// How a resource has ended, and its path if it was received whole.
  func ended(_ resource: UInt64, _ reason: Reason, at path: String?)
  /// Returns all writes up to now.
  func takePendingWrites() -> [PendingWrite]
}

/// A change of an extension's tables, in the same transaction as the engine's.
package struct PendingWrite {
  package var change: DatabaseChange
  /// Whether it is stored, or never will be.
  package var settle: (_ isStored: Bool) -> Void

  package init(_ change: DatabaseChange, settle: @escaping (_ isStored: Bool) -> Void = { _ in }) {
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

  /// A dry run of a start before its store is touched: the keys, and a free port.
  package static func prepare(_ options: HostOptions) throws(NearbyError) -> KeyStore {
    do {
      let keys = try KeyStore(options.keys)
      let (places, port) = try options.listened
      _ = try options.mediumOptions
      if options.sockets.isEmpty, port != 0 {
        do throws(SystemError) {
          try HostNetwork.expectFree(port: port, at: places)
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
    _ options: HostOptions, prepared keys: KeyStore, carrying hostExtension: HostExtension
  ) async throws(NearbyError) -> Host {
    try await start(options, with: keys, carrying: hostExtension)
  }

  /// Whether the store is failing, so that writes wait.
  package var storeIsFailing: Bool { loop.driverHere?.writes.isFailing ?? false }

  /// The body's effects, and all writes by its end, are one transaction.
  package func inTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    guard let driver = loop.driverHere else { throw NearbyError.closed }
    return try driver.inTransaction(body)
  }
}

/// On the host's loop.
extension Session {
  /// Returns the events up to now; the later ones go to the host's observer, one call for all the sessions that have
  /// the same. Nil where it has ended: its last events are among its `events`.
  package func observe() -> [SessionEvent]? { loop.driverHere?.observe(id) }

  /// Gives the message to the engine at once, or not at all: `unavailable` where a member is behind. Its delivery
  /// status goes to the host's observer, by this number, if requested.
  package func dispatch(
    _ bytes: [UInt8], contentType: String? = nil, to recipients: Recipients = .all, _ mode: Mode,
    wantsDeliveryStatus: Bool
  ) throws(NearbyError) -> UInt64 {
    guard let driver = loop.driverHere else { throw .closed }
    return try driver.dispatch(bytes, contentType, from: id, to: recipients, mode, wantsDeliveryStatus)
  }
}

extension Message {
  /// A content type as messages have it; throws for one that they cannot have.
  package static func contentType(_ text: String) throws(NearbyError) -> String {
    do throws(WireError) { return try ContentType(text).text } catch { throw NearbyError(wrapping: error) }
  }
}

extension IncomingResource {
  /// The number for the host's observer, also after a restart.
  package var number: UInt64 { state.id.rawValue }
}

extension OutgoingResource {
  /// The number for the host's observer, also after a restart.
  package var number: UInt64 { state.id.rawValue }
}
