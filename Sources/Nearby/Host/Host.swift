internal import Reactor

/// This program on the network: it carries peers, finds others and connects with them, on a thread of its own.
///
/// ```swift
/// let host = try await Host.start()
/// let ada = try await host.peer(named: "Ada")
/// let browser = try await ada.browse("chat")
/// for await event in browser.events { print(event) }
/// ```
public final class Host: Sendable {
  public let id: HostID
  /// What becomes of discovery, addresses and keys. It has one reader.
  public let conditions: Events<Condition>
  let loop: Loop

  private init(_ id: HostID, _ conditions: Mailbox<Condition>, _ loop: Loop) {
    self.id = id
    self.conditions = Events(mailbox: conditions)
    self.loop = loop
  }

  deinit {
    loop.post { $0.stop() }
  }

  public static func start(_ options: HostOptions = HostOptions()) async throws(NearbyError) -> Host {
    do {
      let keys = try KeyStore(options.keys)
      let loop = try Loop()
      let conditions = Mailbox<Condition>(weightMax: Core.conditionsMax)
      let id = try await loop.begin(keys, conditions, options)
      return Host(id, conditions, loop)
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// Where other hosts reach this one.
  public var addresses: [String] {
    get async { (try? await loop.run { $0.addresses }) ?? [] }
  }

  /// A peer with the identity that is stored under this name, or a new one.
  public func peer(named name: String) async throws(NearbyError) -> Peer {
    let id = try await loop.run { try $0.addPeer(named: name) }
    return Peer(id: id, name: name, loop)
  }

  /// Says goodbye to everybody and ends: sessions are left, nothing is advertised any more.
  public func stop() async {
    await loop.stop()
  }
}
