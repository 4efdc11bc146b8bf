internal import Glibc
internal import Reactor

/// A folder of this host alone in the system's temporary folder, for received files without another place.
final class HoldingPlace {
  private let path: String
  private var folders: Set<String> = []
  private var foldersMade = 0

  init() throws(SystemError) {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
    var name = Array("\(parent)/vicinity-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { throw SystemError("make a folder in \(parent)", code: errno) }
    path = String(decoding: name.dropLast().map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
  }

  func makeFolder() throws(SystemError) -> String {
    foldersMade += 1
    let folder = "\(path)/\(foldersMade)"
    try system("make the folder \(folder)") { mkdir(folder, 0o700) }
    folders.insert(folder)
    return folder
  }

  /// With the files in it.
  func remove(_ folder: String) {
    guard folders.remove(folder) != nil, let entries = opendir(folder) else { return }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      // This does not remove a folder, such as this one and the one above.
      withUnsafeBytes(of: &entry.pointee.d_name) { name in
        if let name = name.baseAddress?.assumingMemoryBound(to: CChar.self) { unlinkat(dirfd(entries), name, 0) }
      }
    }
    rmdir(folder)
  }

  func remove() {
    for folder in folders { remove(folder) }
    rmdir(path)
  }
}
