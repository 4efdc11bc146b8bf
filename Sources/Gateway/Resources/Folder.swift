internal import Glibc
internal import Reactor

/// Small files and folders of the gateway.
enum Folder {
  private static let depthMax = 4

  /// The files' bytes and paths, relative to the folder and with `/`. Links and hidden files are left out.
  static func files(_ folder: String) -> [(path: String, bytes: [UInt8])] {
    var found: [(String, [UInt8])] = []
    collect(folder, "", 0, &found)
    return found
  }

  private static func collect(_ folder: String, _ prefix: String, _ depth: Int, _ found: inout [(String, [UInt8])]) {
    guard depth < depthMax, let listing = opendir(folder) else { return }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = name(of: entry)
      if name.hasPrefix(".") { continue }
      let (path, inside) = ("\(folder)/\(name)", prefix.isEmpty ? name : "\(prefix)/\(name)")
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      switch status.st_mode & S_IFMT {
      case S_IFDIR: collect(path, inside, depth + 1, &found)
      case S_IFREG where status.st_size <= Site.fileBytesMax:
        if let bytes = read(path, Int(status.st_size)) { found.append((inside, bytes)) }
      default: break
      }
    }
  }

  /// Makes a folder and those above it; nobody else may read them, and they survive a power cut.
  static func make(_ path: String) throws(Problem) {
    do throws(SystemError) {
      try makeFolder(path)
    } catch {
      throw Problem(.unavailable, "the folder \(path) cannot be made: \(error); choose another with --folder")
    }
  }

  /// Removes a file, or a folder with all that is in it.
  static func remove(_ path: String) {
    var status = stat()
    // The target of a link is not in the folder.
    if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
      for name in names(in: path) { remove("\(path)/\(name)") }
    }
    _ = Glibc.remove(path)
  }

  /// Whether the path is a folder with no entries but the known ones.
  static func has(_ path: String, nothingBut known: Set<String>) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && known.isSuperset(of: names(in: path))
  }

  /// Whether the folder holds a file, at any depth.
  static func holdsFiles(_ path: String) -> Bool {
    names(in: path).contains { name in
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0 else { return false }
      return status.st_mode & S_IFMT == S_IFDIR ? holdsFiles("\(path)/\(name)") : true
    }
  }

  /// Whether the file is empty or missing.
  static func isEmptyFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 ? errno == ENOENT : status.st_size == 0
  }

  /// Moves files that are not among `paths`, as a killed process leaves them, to the quarantine; returns their number.
  ///
  /// A file may be known by another path than the one that leads here, so files are compared by identity and name: a
  /// power cut may restore a second name, under which a file would survive its deletion. A power cut may also lose the
  /// name of a new file, so its folder stays.
  @discardableResult
  static func sweep(_ parts: [String], of folder: String, keeping paths: [String]) -> Int {
    struct File: Hashable {
      let device: dev_t
      let number: ino_t
      let name: Substring

      init(_ status: stat, _ path: String) {
        (device, number) = (status.st_dev, status.st_ino)
        name = path.split(separator: "/").last ?? ""
      }
    }
    var kept: Set<File> = []
    for path in paths.map({ $0.absolutePath(in: folder) }).flatMap({ [$0, parent(of: $0)] }) {
      var status = stat()
      if stat(path, &status) == 0 { kept.insert(File(status, path)) }
    }
    let quarantine = Quarantine(in: folder)
    var count = 0
    func sweep(_ folder: String, _ depth: Int) {
      for name in names(in: folder) {
        let path = "\(folder)/\(name)"
        var status = stat()
        guard lstat(path, &status) == 0 else { continue }
        if status.st_mode & S_IFMT != S_IFDIR {
          if !kept.contains(File(status, path)), quarantine.add(path) != nil { count += 1 }
        } else if depth > 0 {
          sweep(path, depth - 1)
          // A folder that is not empty stays, too.
          if !kept.contains(File(status, path)) { rmdir(path) }
        }
      }
    }
    for part in parts { sweep("\(folder)/\(part)", 1) }
    return count
  }

  static func names(in folder: String) -> [String] {
    guard let listing = opendir(folder) else { return [] }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) { names.append(name(of: entry)) }
    return names.filter { $0 != "." && $0 != ".." }
  }

  /// Syncs the folder of a path, so that the path survives a power cut.
  static func sync(above path: String) throws(Problem) {
    let folder = parent(of: path)
    do throws(SystemError) {
      try syncFolder(folder)
    } catch {
      throw Problem(.unavailable, "\(folder) cannot be synced to the disk: \(error)")
    }
  }

  private static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
    withUnsafeBytes(of: entry.pointee.d_name) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// The content of a file that is no larger than `bytesMax`.
  static func read(_ path: String, atMost bytesMax: Int) -> [UInt8]? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size <= bytesMax else { return nil }
    return read(path, Int(status.st_size))
  }

  /// The size of a file; 0 if it is missing.
  static func size(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  static func read(_ path: String, _ size: Int) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: size)
    var taken = 0
    while taken < size {
      // There is room for one byte at least, so the buffer has an address.
      let count = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + taken, size - taken) }
      guard count > 0 else { return nil }
      taken += count
    }
    return bytes
  }
}

/// Paths as they are stored: relative to the gateway's folder, which may be moved one day.
extension String {
  func relativePath(to folder: String) -> String {
    hasPrefix(folder + "/") ? String(dropFirst(folder.count + 1)) : self
  }

  func absolutePath(in folder: String) -> String { hasPrefix("/") ? self : "\(folder)/\(self)" }
}
