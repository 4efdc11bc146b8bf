internal import Glibc
internal import Nearby

/// The program's own queries of the file system.
enum FileSystem {
  static func isFile(_ path: String) -> Bool { status(of: path).map { $0.st_mode & S_IFMT == S_IFREG } ?? false }

  static func exists(_ path: String) -> Bool { status(of: path) != nil }

  static func size(of path: String) -> UInt64? { status(of: path).map { UInt64($0.st_size) } }

  /// The text of a small file of unknown origin; nil where it cannot be read.
  static func text(of path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    // Files are settings, or tables of the kernel: a longer file is cut.
    var bytes = [UInt8](repeating: 0, count: 256 << 10)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  /// The path of a file that was installed beside this program, or is in the tree in which it was built.
  static func installed(_ name: String) -> String? {
    guard let program = realpath("/proc/self/exe", nil) else { return nil }
    defer { free(program) }
    var folder = String(cString: program)
    for _ in 0..<6 {
      guard let slash = folder.lastIndex(of: "/") else { return nil }
      folder = String(folder[..<slash])
      for place in ["\(folder)/share/vicinity/\(name)", "\(folder)/\(name)"] where exists(place) { return place }
    }
    return nil
  }

  /// The absolute path, with `~` expanded.
  static func expandedAbsolute(_ path: String) -> String {
    let path = expanded(path)
    if path.hasPrefix("/") { return path }
    guard let here = getcwd(nil, 0) else { return path }
    defer { free(here) }
    return "\(String(cString: here))/\(path)"
  }

  /// The medium, with its folder's path expanded.
  static func expanded(_ medium: HostMedium) -> HostMedium {
    guard case .folder(let path) = medium else { return medium }
    return .folder(expandedAbsolute(path))
  }

  /// Expands `~` as a shell does.
  static func expanded(_ path: String) -> String {
    guard path == "~" || path.hasPrefix("~/"), let user = Terminal.environment("HOME") else { return path }
    return user + path.dropFirst()
  }

  /// The absolute path, which means the same in another folder.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let here = getcwd(nil, 0) else { return path }
    defer { free(here) }
    return "\(String(cString: here))/\(path)"
  }

  /// The reason why a folder cannot take files; nil where it can. The folder is made where it is missing.
  static func fault(ofFolder path: String) -> String? {
    if mkdir(path, 0o777) == 0 { return nil }
    guard let status = status(of: path) else {
      return
        "The folder \(PlainText.line(path)) cannot be made: \(lastErrorText()); choose another one with --to-folder."
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return "\(PlainText.line(path)) is no folder; choose another one with --to-folder."
    }
    guard access(path, W_OK | X_OK) == 0 else {
      return
        "Nothing can be written to \(PlainText.line(path)): \(lastErrorText()); choose another one with --to-folder."
    }
    return nil
  }

  /// A sentence about a file that does not exist.
  static func missingFileSentence(_ path: String) -> String {
    "There is no file \(PlainText.line(path)): look whether its name is right, and the folder it is said from."
  }

  /// The reason why this user cannot read an existing file; nil where they can.
  static func fault(ofReading path: String) -> String? {
    guard access(path, R_OK) != 0 else { return nil }
    let shown = PlainText.line(path)
    return
      "\(shown) cannot be read: \(lastErrorText()). Change its permissions (chmod), or copy it to where it may be read."
  }

  /// The error text of the last call that failed.
  static func lastErrorText() -> String { String(cString: strerror(errno)) }

  /// Completions of a path, for the Tab key; folders end with a slash.
  static func completions(of path: String) -> [String] {
    let head = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    let tail = path.dropFirst(head.count)
    guard let folder = opendir(head.isEmpty ? "." : expanded(head)) else { return [] }
    defer { closedir(folder) }
    var found: [String] = []
    // A larger folder is not read in full for one keystroke.
    for _ in 0..<10_000 {
      guard let entry = readdir(folder) else { break }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasPrefix(tail), name != ".", name != "..", tail.hasPrefix(".") || !name.hasPrefix(".") else {
        continue
      }
      let isFolder = status(of: expanded(head) + name).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
      found.append(head + name + (isFolder ? "/" : ""))
    }
    return found.sorted()
  }
}
