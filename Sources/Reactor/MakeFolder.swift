internal import Glibc

/// Creates a folder for this user alone, with missing ones above. Each survives a power cut.
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
  // Syncing is best effort: a user who may create a folder may not be able to read the one above.
  try? syncFolder(parent(of: path))
}

/// Syncs the names in a folder, so that they survive a power cut.
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
