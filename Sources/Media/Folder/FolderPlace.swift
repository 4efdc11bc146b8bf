internal import Glibc
internal import Reactor

/// A shared folder that is open and fit for a medium: this user may write to it, and not everybody may.
final class FolderPlace {
  let folder: Descriptor
  /// The same for every process of this machine that has the folder, by whatever path.
  let identity: String
  /// Whether a group shares it, or only one user's programs do.
  let isShared: Bool
  let group: UInt32

  /// Files are for those who may write to the folder.
  var mode: mode_t { isShared ? 0o660 : 0o600 }

  init(_ path: String) throws(Trouble) {
    do throws(SystemError) {
      folder = try .folder(path)
      let status = try folder.status()
      identity = "\(String(status.st_dev, radix: 16))-\(String(status.st_ino, radix: 16))"
      isShared = status.st_mode & S_IWGRP != 0
      group = status.st_gid
      if status.st_mode & S_IWOTH != 0 { throw SystemError("trust", code: EUCLEAN) }
      try folder.expectWritable()
    } catch {
      throw Self.trouble(error, path)
    }
  }

  private static func trouble(_ error: SystemError, _ path: String) -> Trouble {
    switch error.code {
    case ENOENT:
      Trouble(
        cause: "There is no folder \(path), in which hosts should meet.",
        cure:
          "Create it with 'mkdir -m 700 \(path)' for one user's programs, or share the right one with this container.")
    case ENOTDIR, ELOOP:
      Trouble(cause: "\(path) is no folder.", cure: "Name a folder in which hosts should meet.")
    case EUCLEAN:
      Trouble(
        cause: "Everybody may write to the folder \(path), so that any user could remove the files of hosts.",
        cure: "Use 'chmod o-w \(path)'; for several users, give it to a group of theirs with 'chgrp GROUP \(path)' and "
          + "'chmod 2770 \(path)'.")
    case EACCES, EPERM:
      Trouble(
        cause: "This user may not write to the folder \(path).",
        cure: "Give it to a group that the user is in, with 'chgrp GROUP \(path)' and 'chmod 2770 \(path)'.")
    case EROFS:
      Trouble(
        cause: "The folder \(path) is on a file system that can only be read.",
        cure: "Mount it for writing, or use another folder.")
    case ENAMETOOLONG:
      Trouble(cause: "The path of the folder is too long: \(path)", cure: "Use a folder with a shorter path.")
    default:
      Trouble(
        cause: "The folder \(path), in which hosts should meet, cannot be used: \(error).",
        cure: "Mend that, or use another folder.")
    }
  }
}
