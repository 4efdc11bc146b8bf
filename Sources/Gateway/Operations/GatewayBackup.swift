internal import Glibc
internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// A copy of all data of a gateway, made while it runs or while it is stopped. Another gateway starts from that folder
/// with `vicinity serve --keys`, that folder, `--folder` and the one in it.
public struct GatewayBackup: Hashable, Sendable {
  public let place: String
  public let sessions: Int
  public let files: Int

  /// Asks the running gateway, or copies the store of a stopped one. It blocks until the answer.
  public static func run(of folder: String, keys: String, to place: String) async throws(PairingFailure)
    -> GatewayBackup
  {
    do throws(PairingFailure) {
      let json = try PairingTicket.answer(to: ["backup": .text(place)], in: folder, timeout: hoursMax * 3_600)
      guard let sessions = json["sessions"]?.integer, let files = json["files"]?.integer else {
        throw .failed("the gateway's answer is not valid: it may have another version")
      }
      return GatewayBackup(place: place, sessions: Int(sessions), files: Int(files))
    } catch {
      guard case .nobody = error else { throw error }
      return try await copy(folder, keys, to: place)
    }
  }

  private static let hoursMax = 24

  private static func copy(_ folder: String, _ keys: String, to place: String) async throws(PairingFailure)
    -> GatewayBackup
  {
    let writer = try Gateway.openStoredDatabase(in: folder)
    do {
      let backup = try await make(writer, folder, keys, to: place)
      await writer.close()
      return backup
    } catch {
      throw .failed("\(error)")
    }
  }

  /// Makes the copy in a draft folder, which is renamed to its place when it is complete.
  static func make(_ writer: Writer, _ folder: String, _ keys: String, to place: String) async throws -> GatewayBackup {
    guard place.hasPrefix("/") else { throw Problem(.invalidParameter, "\(place) is no whole path", field: "backup") }
    let draft = place + ".new"
    let hold = try begin(draft, for: place)
    defer { _ = flock(hold.number, LOCK_UN) }
    let backup: GatewayBackup
    do {
      backup = try await fill(draft, from: writer, folder, keys, for: place)
      guard rename(draft, place) == 0 else {
        throw Problem(.unavailable, "\(place) cannot be made: \(String(cString: strerror(errno)))")
      }
    } catch {
      Folder.remove(draft)
      throw error
    }
    try Folder.sync(above: place)
    return backup
  }

  /// Makes the draft folder, and locks it. The draft of an interrupted backup is removed first.
  private static func begin(_ draft: String, for place: String) throws(Problem) -> Descriptor {
    func refused(_ why: String) -> Problem {
      Problem(.invalidParameter, "\(place) cannot be made (\(why)): name a folder that is not there", field: "backup")
    }
    if access(place, F_OK) == 0 { throw refused("it is there") }
    do throws(SystemError) {
      do throws(SystemError) {
        try system("mkdir \(draft)") { mkdir(draft, 0o700) }
      } catch {
        // A folder with any other content belongs to somebody, and a locked one is being made.
        guard error.code == EEXIST, Folder.has(draft, nothingBut: ["keys", "gateway"]) else { throw error }
        _ = try held(draft)
        Folder.remove(draft)
        try system("mkdir \(draft)") { mkdir(draft, 0o700) }
      }
      return try held(draft)
    } catch {
      throw refused(error.code == EWOULDBLOCK ? "another backup is in progress there" : "\(error)")
    }
  }

  private static func held(_ folder: String) throws(SystemError) -> Descriptor {
    let hold = try Descriptor.opened(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    let number = hold.number
    try system("flock \(folder)") { flock(number, LOCK_EX | LOCK_NB) }
    return hold
  }

  /// The keys first: without them the rest is useless.
  private static func fill(
    _ place: String, from writer: Writer, _ folder: String, _ keys: String, for name: String
  ) async throws -> GatewayBackup {
    let inside = "\(place)/gateway"
    for part in SessionStore.folders { try Folder.make("\(inside)/\(part)") }
    try CopiedFile.copy("\(keys)/keys", to: "\(place)/keys")
    for name in ["authority.pem", "server.pem"] where access("\(folder)/\(name)", F_OK) == 0 {
      try CopiedFile.copy("\(folder)/\(name)", to: "\(inside)/\(name)")
    }
    try await writer.backUp(to: "\(inside)/\(Gateway.storeName)")
    let copy = try await writer.perform { _ in try Writer("\(inside)/\(Gateway.storeName)", schema: .gateway) }
    // On the copy's own thread, which nobody else waits for.
    let backup = try await copy.perform { database in
      try database.forgetTransfersOfCopy()
      let files = try copyFiles(database, folder, to: inside)
      return GatewayBackup(place: name, sessions: try database.sessions().count, files: files)
    }
    await copy.close()
    return backup
  }

  private static func copyFiles(_ database: Database, _ folder: String, to place: String) throws -> Int {
    var count = 0
    // Resources of one content have the same file.
    for path in Set(try database.resources().compactMap(\.path)).sorted() where !path.hasPrefix("/") {
      // It may have been removed since.
      guard access("\(folder)/\(path)", F_OK) == 0 else { continue }
      if let slash = path.lastIndex(of: "/") { try Folder.make("\(place)/\(path[..<slash])") }
      try CopiedFile.copy("\(folder)/\(path)", to: "\(place)/\(path)")
      count += 1
    }
    return count
  }
}

extension Core {
  func backUp(to place: String) async throws -> JSON {
    guard let keys = try options.host.keys.path() else {
      throw Problem(.unsupported, "this gateway has ephemeral keys, so it cannot be restored from a backup")
    }
    let (writer, folder) = (store, options.folder)
    let backup = try await GatewayBackup.make(writer, folder, keys, to: place)
    log(
      .info, for: .operator, "backup", "a backup was made",
      [.init("place", .text(place)), .init("files", .number(backup.files))])
    return ["sessions": .number(backup.sessions), "files": .number(backup.files)]
  }
}

/// A copied file, complete and synced, for this user alone.
private enum CopiedFile {
  static func copy(_ source: String, to target: String) throws(Problem) {
    do throws(SystemError) {
      let from = try Descriptor.opened(source, O_RDONLY | O_NOFOLLOW)
      let to = try Descriptor.opened(target, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
      while case let piece = try from.readPiece(), !piece.isEmpty { try to.writeAll(piece) }
      try to.sync()
      try syncFolder(parent(of: target))
    } catch {
      let detail = "\(source) cannot be copied to \(target): \(error)"
      throw error.isFullDisk ? .noSpace(detail) : Problem(.unavailable, detail)
    }
  }
}
