internal import Glibc
public import Reactor

/// Why keys cannot be read or stored, and what to do. It holds no secret.
public enum KeyStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  case noStandardFolder
  /// Two hosts with one key are in conflict everywhere. The process is nil where it did not leave its number.
  case inUse(folder: String, process: Int32?)
  /// Others could take the host's place, or could give it another.
  case open(path: String, mode: UInt32)
  case othersFolder(path: String, mode: UInt32)
  case ownedBySomeoneElse(path: String, user: UInt32)
  case notAFile(path: String)
  /// The file system has no modes, or does not keep them.
  case cannotBePrivate(path: String)
  case missing(path: String)
  /// Keys cannot be imported into a store that keeps nothing.
  case nothingIsKept
  case tooLong(path: String, bytesMax: Int)
  /// A line of 0 stands for the file as a whole.
  case damaged(path: String, line: Int, what: String)
  case newer(path: String, version: UInt64)
  /// An import would replace existing keys.
  case occupied(path: String)
  case full(what: String, countMax: Int)
  case failed(path: String, SystemError)

  public var description: String {
    switch self {
    case .noStandardFolder:
      "There is no place for keys: neither XDG_DATA_HOME nor HOME is an absolute path; set one, or name a folder."
    case .inUse(let folder, let process):
      "The key in \(folder) is in use by \(holder(process)); stop it, or give this host another folder."
    case .open(let path, let mode):
      "Others may read or write \(path) (mode \(octal(mode))), so its keys are not safe; "
        + "if nobody has seen them, say: chmod 600 \(quoted(path))"
    case .othersFolder(let path, let mode):
      "Others may change the folder \(path) (mode \(octal(mode))), so no key is safe in it; say: chmod 700 \(quoted(path))"
    case .ownedBySomeoneElse(let path, let user):
      "\(path) belongs to user \(user) and this is user \(geteuid()); run as that user, give it to this one with chown, "
        + "or use another folder."
    case .notAFile(let path):
      "\(path) is not a plain file or folder, as it should be; move it away, or use another folder."
    case .cannotBePrivate(let path):
      "The file system cannot keep \(path) from others; choose a place on this user's own disk."
    case .missing(let path):
      "There is no file \(path); name one that was exported."
    case .nothingIsKept:
      "Keys cannot be imported where nothing is kept; name a folder."
    case .tooLong(let path, let bytesMax):
      "\(path) has more than \(bytesMax) bytes, which no key file has; put back a copy, or use another folder."
    case .damaged(let path, let line, let what):
      "The keys in \(path) are damaged (\(line == 0 ? "" : "line \(line): ")\(what)), and were left as they are; "
        + "put back a copy, or move the file away to begin as a new host."
    case .newer(let path, let version):
      "\(path) has format \(version), of a later release (this one reads \(KeyText.version)); "
        + "install that release, or use another folder."
    case .occupied(let path):
      "There are keys already: \(path); they were left as they are. Import into another folder, or move the file away."
    case .full(let what, let countMax):
      "The key store holds \(countMax) \(what) and takes no more; remove some that are not needed."
    case .failed(let path, let error):
      "\(path): \(error)\(cure(of: error))"
    }
  }
}

private func holder(_ process: Int32?) -> String {
  switch process {
  case nil: "another process"
  case getpid(): "this process itself"
  case let process?: "process \(process)"
  }
}

private func cure(of error: SystemError) -> String {
  switch error.code {
  case _ where error.isFullDisk: "; make room on the disk"
  case EACCES, EPERM, EROFS: "; use a folder that this user may write to"
  case ENOTDIR, EEXIST: "; what is named there is no folder, so name another one"
  default: ""
  }
}

private func octal(_ mode: UInt32) -> String { "0" + String(mode, radix: 8) }

/// For a shell.
private func quoted(_ path: String) -> String {
  let quote: Character = "'"
  return "'" + path.map { $0 == quote ? "'\\''" : String($0) }.joined() + "'"
}
