import Media
import Reactor
import Testing
import Wire

@Suite struct FixedDirectoryTests {
  /// A directory with its events, and hosts that come and go at its one address.
  private final class Scene {
    let rig: Rig
    let address: SocketAddress
    private(set) var directory: FixedDirectory?
    private(set) var events: [DirectoryEvent] = []
    private(set) var visits = 0
    private var listener: Listener?
    private let guest = Recorder()
    /// Actions, each after so many events.
    private var acts: [(count: Int, act: (Scene) -> Void)] = []

    init() throws {
      rig = try Rig()
      // A port that is free, and stays so until a host comes.
      address = try #require(try Descriptor.listening(at: .loopback(port: 0)).localAddress())
      directory = FixedDirectory([address], LinkContext(key: rig.guestKey), on: rig.reactor) { [unowned self] event in
        events.append(event)
        while let next = acts.first, next.count <= events.count {
          acts.removeFirst()
          next.act(self)
        }
      }
    }

    func host(_ key: SigningKey) throws {
      listener = nil
      let context = LinkContext(key: key)
      listener = try Listener(at: address, on: rig.reactor) { [unowned self] socket in
        visits += 1
        _ = try? SecureLink.accept(socket, context, on: rig.reactor, owner: guest)
      }
    }

    func after(_ count: Int, _ act: @escaping (Scene) -> Void) { acts.append((count, act)) }

    func run() {
      rig.run()
      directory = nil
      listener = nil
    }
  }

  private static let types = [try! ServiceType("one"), try! ServiceType("two")]  // Legal ones.

  private func roster(_ key: SigningKey, _ type: ServiceType, at address: SocketAddress) -> SeenRecord {
    SeenRecord(
      type: type, name: address.description, hostName: "", port: address.port,
      txt: Announcement.roster(host: HostID(of: key.publicKey)).txt, addresses: [address])
  }

  @Test func `a host at an address that was given by hand is seen as one that tells of its peers`() throws {
    let scene = try Scene()
    let key = scene.rig.hostKey
    try scene.host(key)
    scene.directory?.browse(for: Self.types[0])
    scene.after(2) { $0.directory?.browse(for: Self.types[1]) }
    scene.after(3) {
      $0.directory?.stopBrowsing(for: Self.types[0])
      $0.directory?.stopBrowsing(for: Self.types[1])
    }
    scene.after(5) { $0.rig.reactor.stop() }
    scene.run()
    let (one, two) = (SeenID(rawValue: 1), SeenID(rawValue: 2))
    #expect(
      scene.events == [
        .appeared(one, roster(key, Self.types[0], at: scene.address)), .available,
        .appeared(two, roster(key, Self.types[1], at: scene.address)), .gone(one), .gone(two),
      ])
    #expect(scene.visits == 1)
  }

  @Test func `where nobody answers it says so, and finds the host that comes later`() throws {
    let scene = try Scene()
    scene.directory?.browse(for: Self.types[0])
    scene.after(1) { scene in
      do { try scene.host(scene.rig.hostKey) } catch { Issue.record(error) }
    }
    scene.after(3) { $0.rig.reactor.stop() }
    scene.run()
    guard case .unavailable(let trouble)? = scene.events.first else {
      Issue.record("\(scene.events)")
      return
    }
    #expect(trouble.cause.contains(scene.address.description) && trouble.cause.contains("ECONNREFUSED"))
    #expect(trouble.cure.contains("port"))
    #expect(scene.events.dropFirst().contains(.available))
  }

  @Test func `where a host is doubted, the one that lives there now takes its place`() throws {
    let scene = try Scene()
    let (old, new) = (scene.rig.hostKey, SigningKey())
    try scene.host(old)
    scene.directory?.browse(for: Self.types[0])
    scene.after(2) { scene in
      do { try scene.host(new) } catch { Issue.record(error) }
      scene.directory?.doubt(scene.address)
    }
    scene.after(4) { $0.rig.reactor.stop() }
    scene.run()
    let (one, two) = (SeenID(rawValue: 1), SeenID(rawValue: 2))
    #expect(
      scene.events == [
        .appeared(one, roster(old, Self.types[0], at: scene.address)), .available, .gone(one),
        .appeared(two, roster(new, Self.types[0], at: scene.address)),
      ])
  }

  @Test func `a doubt that was wrong changes nothing`() throws {
    let scene = try Scene()
    try scene.host(scene.rig.hostKey)
    scene.directory?.browse(for: Self.types[0])
    scene.after(2) { scene in
      scene.directory?.doubt(scene.address)
      scene.rig.reactor.schedule(after: .milliseconds(300)) { scene.rig.reactor.stop() }
    }
    scene.run()
    #expect(scene.visits == 2)
    #expect(scene.events.count == 2)
  }
}
