internal import Glibc
internal import Synchronization

/// All that SQLite does to the databases that lie in a folder, from which the power can be cut afterwards, at each moment.
///
/// The program sees its files as always. Which files a cut leaves follows from the moment and a seed.
public final class Recording: Sendable {
  private struct State {
    var steps: [Step] = []
    var files: [String: Int] = [:]
    var filesMade = 0
    /// The marks as they were seen last.
    var marks: [String: [UInt8]] = [:]
  }

  let folder: String
  /// The files from before; they have the first numbers, in the order of their names.
  private let firstFiles: [(name: String, bytes: [UInt8])]
  private let state: Mutex<State>

  /// Begins at once with a folder that holds only the files that another cut has left; files opened from here on are
  /// recorded.
  public init(of folder: String, from files: [String: [UInt8]] = [:]) {
    self.folder = folder
    firstFiles = files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    let names = firstFiles.enumerated().map { ($0.element.name, $0.offset) }
    state = Mutex(State(files: Dictionary(uniqueKeysWithValues: names), filesMade: files.count))
    Self.put(files, into: folder)
    Tap.begin(self)
  }

  /// Ends the recording of newly opened files; those that are open stay recorded.
  public func end() { Tap.end(self) }

  /// The number of steps so far: a moment.
  public var count: Int { state.withLock { $0.steps.count } }

  /// The writes of a file that a power cut may still take: those since its last sync.
  public func unsyncedCount(of name: String) -> Int {
    state.withLock { state in
      guard let file = state.files[name] else { return 0 }
      return state.steps.reduce(0) { count, step in
        switch step {
        case .wrote(file, _, _): count + 1
        case .synced(file): 0
        default: count
        }
      }
    }
  }

  // MARK: Taking down

  func note(_ step: Step) {
    state.withLock { state in
      noteMarks(&state)
      state.steps.append(step)
    }
  }

  /// Notes the program's own write beside a database, which follows SQLite's last one: the number of the last commit.
  /// The program syncs that file when it creates it, and then no more.
  private func noteMarks(_ state: inout State) {
    for name in state.files.keys.filter({
      !$0.hasSuffix("-wal") && !$0.hasSuffix("-journal") && !$0.hasSuffix(".last-commit")
    }).sorted() {
      let mark = name + ".last-commit"
      guard let bytes = Self.bytes(of: "\(folder)/\(mark)"), bytes != state.marks[mark] else { continue }
      state.marks[mark] = bytes
      if let file = state.files[mark] {
        state.steps.append(.wrote(file: file, bytes: bytes, offset: 0))
      } else {
        let file = state.filesMade
        state.filesMade += 1
        state.files[mark] = file
        state.steps += [
          .made(file: file, name: mark), .wrote(file: file, bytes: bytes, offset: 0), .synced(file: file),
          .syncedFolder,
        ]
      }
    }
  }

  private static func bytes(of path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  /// The number of the file that has this name.
  func opened(_ name: String) -> Int {
    state.withLock { state in
      if let file = state.files[name] { return file }
      let file = state.filesMade
      state.filesMade += 1
      state.files[name] = file
      // SQLite made the file, or the program did so right before and left it empty.
      state.steps.append(.made(file: file, name: name))
      return file
    }
  }

  func removed(_ name: String) {
    state.withLock { state in
      state.files[name] = nil
      state.steps.append(.removed(name: name))
    }
  }

  // MARK: Cutting

  /// The content of the folder when the power is cut at that moment and comes back.
  public func cut(at moment: Int, seed: UInt64) -> [String: [UInt8]] {
    let steps = state.withLock { $0.steps }.prefix(moment)
    var lastSyncs: [Int: Int] = [:]
    var lastFolderSync = -1
    for (index, step) in steps.enumerated() {
      if case .synced(let file) = step { lastSyncs[file] = index }
      if case .syncedFolder = step { lastFolderSync = index }
    }
    var luck = SurvivalChance(seed)
    var media: [Int: Medium] = [:]
    var seen: [String: Int] = [:]
    for (file, first) in firstFiles.enumerated() {
      media[file] = Medium(first.bytes, isLoose: lastSyncs[file] == nil)
      seen[first.name] = file
    }
    var left = seen
    for (index, step) in steps.enumerated() {
      switch step {
      case .made(let file, let name):
        media[file] = Medium([], isLoose: lastSyncs[file] == nil)
        seen[name] = file
        if index > lastFolderSync, luck.strikes() { left[name] = file }
      case .wrote(let file, let bytes, let offset): media[file]?.write(bytes, at: offset, &luck)
      case .resized(let file, let size): media[file]?.resize(to: size, &luck)
      case .synced(let file): if lastSyncs[file] == index { media[file]?.settle() }
      case .removed(let name):
        seen[name] = nil
        if index > lastFolderSync, luck.strikes() { left[name] = nil }
      case .syncedFolder: left = seen
      }
    }
    var files = left.compactMapValues { media[$0]?.leftBytes }
    // The log's index is shared memory, whose file is never synced: anything may be in it.
    for name in left.keys.sorted() where name.hasSuffix("-wal") && luck.strikes() {
      files[name.dropLast(4) + "-shm"] = luck.junk(32 << 10)
    }
    return files
  }

  /// Puts files as a cut left them into a folder, for this user alone.
  public static func put(_ files: [String: [UInt8]], into folder: String) {
    mkdir(folder, 0o700)
    for (name, bytes) in files {
      let file = open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
      defer { close(file) }
      precondition(write(file, bytes, bytes.count) == bytes.count, "\(folder)/\(name) cannot be written: \(errno)")
    }
  }
}
