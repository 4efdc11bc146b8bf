// SQLite's own way to the disk, with an ear at it. It is the process's default once something is recorded: only what lies
// in a recorded folder is listened to, and nothing behaves otherwise than without it.
//
// A file's memory is SQLite's; as long as it is open its table of methods is exchanged for a copy with other functions in
// four places. Each of these gets what is valid for its call, as the function does that it stands for, and the tables that
// are copied are SQLite's constants. That makes what follows safe.
internal import CSQLite
internal import Glibc
internal import Synchronization

enum Tap {
  fileprivate typealias File = UnsafeMutablePointer<sqlite3_file>
  fileprivate typealias System = UnsafeMutablePointer<sqlite3_vfs>

  // `@unchecked`: the table is a constant.
  fileprivate struct Opened: @unchecked Sendable {
    let recording: Recording
    let number: Int
    let methods: UnsafePointer<sqlite3_io_methods>
    /// A log that was opened to be made: SQLite syncs its folder with its first sync.
    var syncsFolder: Bool
  }

  private struct State {
    var recordings: [Recording] = []
    /// The open files, by address.
    var opened: [Int: Opened] = [:]
  }

  private static let state = Mutex(State())

  static func begin(_ recording: Recording) {
    precondition(isInstalled, "SQLite does not take another way to the disk")
    state.withLock { $0.recordings.append(recording) }
  }

  static func end(_ recording: Recording) {
    state.withLock { $0.recordings.removeAll { $0 === recording } }
  }

  private static let isInstalled: Bool = {
    let tap = System.allocate(capacity: 1)
    tap.initialize(to: system.pointee)
    tap.pointee.pNext = nil
    tap.pointee.zName = UnsafePointer(strdup("power-cut"))
    tap.pointee.xOpen = open
    tap.pointee.xDelete = delete
    return sqlite3_vfs_register(tap, 1) == SQLITE_OK
  }()

  fileprivate static var system: System {
    guard let system = sqlite3_vfs_find("unix") else { preconditionFailure("SQLite has no way to the disk") }
    return system
  }

  /// The recording that covers a path, and the file's name in its folder.
  fileprivate static func place(of path: UnsafePointer<CChar>?) -> (Recording, String)? {
    guard let path = path.map({ String(cString: $0) }), let slash = path.lastIndex(of: "/") else { return nil }
    let recording = state.withLock { state in state.recordings.first { $0.folder == path[..<slash] } }
    return recording.map { ($0, String(path[path.index(after: slash)...])) }
  }

  fileprivate static func listen(to file: File, _ opened: Opened) {
    let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    table.initialize(to: opened.methods.pointee)
    table.pointee.xClose = close
    table.pointee.xWrite = write
    table.pointee.xTruncate = truncate
    table.pointee.xSync = sync
    file.pointee.pMethods = UnsafePointer(table)
    let address = Int(bitPattern: file)
    state.withLock { $0.opened[address] = opened }
  }

  fileprivate static func leave(_ file: File, _ opened: Opened) {
    file.pointee.pMethods.deallocate()
    file.pointee.pMethods = opened.methods
    let address = Int(bitPattern: file)
    state.withLock { $0.opened[address] = nil }
  }

  fileprivate static func find(_ file: File?) -> (File, Opened) {
    let address = Int(bitPattern: file)
    guard let file, let opened = state.withLock({ $0.opened[address] }) else {
      preconditionFailure("a file that was not opened here")
    }
    return (file, opened)
  }

  fileprivate static func folderIsSynced(with file: File) {
    let address = Int(bitPattern: file)
    state.withLock { $0.opened[address]?.syncsFolder = false }
  }
}

private func open(
  _: UnsafeMutablePointer<sqlite3_vfs>?, path: UnsafePointer<CChar>?, file: UnsafeMutablePointer<sqlite3_file>?,
  flags: CInt, outFlags: UnsafeMutablePointer<CInt>?
) -> CInt {
  let code = Tap.system.pointee.xOpen(Tap.system, path, file, flags, outFlags)
  guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods, let (recording, name) = Tap.place(of: path)
  else { return code }
  let logs = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL
  let syncsFolder = flags & SQLITE_OPEN_CREATE != 0 && flags & logs != 0
  let number = recording.opened(name)
  Tap.listen(
    to: file, Tap.Opened(recording: recording, number: number, methods: methods, syncsFolder: syncsFolder))
  return code
}

private func delete(
  _: UnsafeMutablePointer<sqlite3_vfs>?, path: UnsafePointer<CChar>?, syncsFolder: CInt
) -> CInt {
  let code = Tap.system.pointee.xDelete(Tap.system, path, syncsFolder)
  guard code == SQLITE_OK, let (recording, name) = Tap.place(of: path) else { return code }
  recording.removed(name)
  if syncsFolder != 0 { recording.note(.syncedFolder) }
  return code
}

private func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> CInt {
  let (file, opened) = Tap.find(file)
  Tap.leave(file, opened)
  return opened.methods.pointee.xClose(file)
}

private func write(
  _ file: UnsafeMutablePointer<sqlite3_file>?, bytes: UnsafeRawPointer?, count: CInt, offset: sqlite3_int64
) -> CInt {
  let (file, opened) = Tap.find(file)
  let code = opened.methods.pointee.xWrite(file, bytes, count, offset)
  let written = [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  if code == SQLITE_OK { opened.recording.note(.wrote(file: opened.number, bytes: written, offset: Int(offset))) }
  return code
}

private func truncate(_ file: UnsafeMutablePointer<sqlite3_file>?, size: sqlite3_int64) -> CInt {
  let (file, opened) = Tap.find(file)
  let code = opened.methods.pointee.xTruncate(file, size)
  if code == SQLITE_OK { opened.recording.note(.resized(file: opened.number, size: Int(size))) }
  return code
}

private func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, flags: CInt) -> CInt {
  let (file, opened) = Tap.find(file)
  let code = opened.methods.pointee.xSync(file, flags)
  guard code == SQLITE_OK else { return code }
  opened.recording.note(.synced(file: opened.number))
  if opened.syncsFolder {
    opened.recording.note(.syncedFolder)
    Tap.folderIsSynced(with: file)
  }
  return code
}
