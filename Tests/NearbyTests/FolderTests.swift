internal import FoundationEssentials
internal import Glibc
internal import Nearby
internal import Reactor
internal import TestKit
internal import Testing

/// Hosts that meet in a shared folder, without a network.
@Suite("Hosts in a shared folder", .timeLimit(.minutes(3)))
struct FolderTests {
  static func start(in folder: String, _ media: [HostMedium] = []) async throws -> Nearby.Host {
    var options = HostOptions()
    options.keys = .ephemeral
    options.discovery = .fixed([])
    options.media = [.folder(folder)] + media
    return try await Nearby.Host.start(options)
  }

  /// Whether each link has a round trip of less than a second.
  static func isMeasured(_ links: [HostLink]) -> Bool {
    !links.isEmpty && links.allSatisfy { $0.roundTrip.map { $0 > .zero && $0 < .seconds(1) } == true }
  }

  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  private static func write(_ text: String, to path: String) {
    #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
  }

  /// A folder in which hosts may meet, whose path is longer than a socket's may be.
  static func makeFolder(_ temporary: TemporaryFolder) throws -> String {
    let path = "\(temporary.path)/\(String(repeating: "long", count: 40))"
    try #require(mkdir(path, 0o700) == 0)
    return path
  }

  /// Bob advertises, Ada looks for him, invites him, and they talk both ways.
  static func talk(_ adas: Nearby.Host, _ bobs: Nearby.Host) async throws -> (Session, Session) {
    let (ada, bob) = (try await adas.peer(named: "Ada"), try await bobs.peer(named: "Bob"))
    let (browser, advertiser) = (try await ada.browse("talk"), try await bob.advertise("talk", info: ["room": "2"]))
    for await event in browser.events {
      guard case .found(let found) = event else { continue }
      #expect(found.id == bob.id && found.name == "Bob" && found.info == ["room": "2"])
      break
    }
    let (hers, his) = (try await ada.openSession(), try await bob.openSession())
    async let invited: Void = hers.invite(bob.id, as: "talk")
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: his)
      break
    }
    try await invited
    for (from, to) in [(hers, his), (his, hers)] {
      try await from.send(Array("hello".utf8))
      for await event in to.events {
        guard case .message(let message) = event else { continue }
        #expect(message.bytes == Array("hello".utf8))
        break
      }
    }
    return (hers, his)
  }

  @Test(
    "P-NET-1 two hosts without a network find each other in a folder with a long path, talk, and leave nothing there")
  func meeting() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    let (adas, bobs) = (try await Self.start(in: folder), try await Self.start(in: folder))
    #expect(await adas.addresses.isEmpty)
    _ = try await Self.talk(adas, bobs)
    // No system measures such links: pings do, with the first heartbeat.
    for host in [adas, bobs] { try await Self.eventually { await Self.isMeasured(host.links) } }
    let names = try Self.names(in: folder)
    #expect(names.count == 4, "a socket and a record of each: \(names)")
    for name in names {
      var status = stat()
      #expect(lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
    await adas.stop()
    await bobs.stop()
    try await Self.eventually { try Self.names(in: folder).isEmpty }
  }

  @Test("a host that has died is gone from the folder, and its files are removed by another one")
  func staleFiles() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    let dead = "aaaaaaaaaaaaaaaaaaaaaaaaaa.0badcafe"
    // Nobody holds a lock on them.
    Self.write("vicinity folder 1\n", to: "\(folder)/\(dead).record")
    Self.write("", to: "\(folder)/\(dead)")
    Self.write("mine", to: "\(folder)/notes.txt")
    let host = try await Self.start(in: folder)
    try await Self.eventually { try !Self.names(in: folder).contains { $0.hasPrefix(dead) } }
    #expect(try Self.names(in: folder).contains("notes.txt"), "what is not a host's is left alone")
    await host.stop()
  }

  @Test("P-HAB-2 symlinks, huge records, wrong names and garbage in the folder disturb nobody")
  func hostileFiles() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    let names = (0..<8).map { "aaaaaaaaaaaaaaaaaaaaaaaaa\(["a", "e", "i", "m", "q", "u", "y", "4"][$0]).0000000\($0)" }
    symlink("/etc/passwd", "\(folder)/\(names[0]).record")
    symlink("/dev/zero", "\(folder)/\(names[1]).record")
    mkfifo("\(folder)/\(names[2]).record", 0o600)
    mkdir("\(folder)/\(names[3]).record", 0o700)
    Self.write(String(repeating: "x", count: 1 << 20), to: "\(folder)/\(names[4]).record")
    Self.write("vicinity folder 1\n\u{8}garbage\u{ff}", to: "\(folder)/\(names[5]).record")
    // These two seem to be alive.
    let locks = [4, 5].map { open("\(folder)/\(names[$0]).record", O_RDWR) }
    for lock in locks { #expect(flock(lock, LOCK_EX) == 0) }
    for number in 0..<300 { Self.write("", to: "\(folder)/junk \(number).record") }
    let (adas, bobs) = (try await Self.start(in: folder), try await Self.start(in: folder))
    _ = try await Self.talk(adas, bobs)
    for lock in locks { close(lock) }
    await adas.stop()
    await bobs.stop()
  }

  @Test("a folder that goes away suspends at once, and a new one at its path brings the two together again")
  func folderGoes() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    let (adas, bobs) = (try await Self.start(in: folder), try await Self.start(in: folder))
    let (hers, his) = try await Self.talk(adas, bobs)
    #expect(rename(folder, "\(temporary.path)/elsewhere") == 0)
    // It is timed on a thread of its own, since other tests keep those of this one busy.
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    let time = await reactor.spawn {
      let start = ContinuousClock.now
      for await event in hers.events { if case .suspended(_, true) = event { break } }
      return ContinuousClock.now - start
    }.value
    #expect(time < .seconds(1), "long before a silence is noticed")
    for await condition in adas.conditions {
      guard case .discoveryUnavailable(let cause, let cure) = condition else { continue }
      #expect(cause.contains(folder) && cure.contains("mkdir"))
      break
    }
    try await hers.send([1])
    try #require(mkdir(folder, 0o700) == 0)
    for await event in his.events {
      guard case .message(let message) = event else { continue }
      #expect(message.bytes == [1])
      break
    }
    await adas.stop()
    await bobs.stop()
  }

  @Test("a folder that is missing, a file, or everybody's is refused, with cause and cure")
  func unfitFolders() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    Self.write("", to: "\(temporary.path)/file")
    chmod(folder, 0o777)
    for (path, words) in [
      ("\(temporary.path)/nowhere", ["no folder", "mkdir"]), ("\(temporary.path)/file", ["is no folder"]),
      (folder, ["everybody", "chmod o-w"]), (String(repeating: "/long", count: 1_000), ["too long"]),
    ] {
      do {
        let host = try await Self.start(in: path)
        await host.stop()
        Issue.record("a host started in \(path)")
      } catch let error as NearbyError {
        #expect(error.code == .unavailable)
        for word in words { #expect(error.description.lowercased().contains(word), "\(error)") }
      }
    }
  }

  @Test("the records of a group's folder are for the group")
  func sharedFolder() async throws {
    let temporary = TemporaryFolder()
    let folder = try Self.makeFolder(temporary)
    chmod(folder, 0o2770)
    let host = try await Self.start(in: folder)
    // A file has its mode a moment after its name.
    try await Self.eventually {
      let modes = try Self.names(in: folder).map { name in
        var status = stat()
        return lstat("\(folder)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
      }
      return modes == [0o660, 0o660]
    }
    await host.stop()
  }

  static func eventually(within seconds: Int = 5, _ holds: () async throws -> Bool) async throws {
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    for _ in 0..<100 * seconds {
      if try await holds() { return }
      await withCheckedContinuation { continuation in
        reactor.post { reactor.schedule(after: .milliseconds(10)) { continuation.resume() } }
      }
    }
    Issue.record("it did not come to that in \(seconds) seconds")
  }
}
