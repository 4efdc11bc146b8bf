internal import Glibc

/// For this user alone, with those above it that are missing. Each is there after a power cut too.
package func makeFolder(_ path: String) throws(SystemError) {
  do throws(SystemError) {
    try makeFolderAlone(path)
  } catch {
    guard error.code == ENOENT, parent(of: path) != path else { throw error }
    try makeFolder(parent(of: path))
    try makeFolderAlone(path)
  }
}

private func makeFolderAlone(_ path: String) throws(SystemError) {
  do throws(SystemError) {
    try system("mkdir \(path)") { mkdir(path, 0o700) }
  } catch {
    if error.code == EEXIST { return }
    throw error
  }
  // Where this user may make a folder and not read what is beside it, that cannot be promised.
  try? syncFolder(parent(of: path))
}

/// The names in it are there after a power cut too.
package func syncFolder(_ path: String) throws(SystemError) {
  try Descriptor.opened(path, O_RDONLY | O_DIRECTORY).sync()
}

/// The folder that a path is in.
package func parent(of path: String) -> String {
  let parts = path.split(separator: "/")
  let parent = parts.dropLast().joined(separator: "/")
  if path.hasPrefix("/") { return "/" + parent }
  return parent.isEmpty ? "." : parent
}
