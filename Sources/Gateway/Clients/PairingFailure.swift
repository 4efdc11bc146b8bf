internal import Glibc
internal import Store

/// The reason why a gateway on this machine has not done what a local program asked.
public enum PairingFailure: Error, Hashable, CustomStringConvertible {
  case nobody(folder: String)
  /// The folder has no store.
  case noStore(folder: String)
  case othersFolder(folder: String)
  /// In the gateway's words.
  case refused(String)
  case failed(String)

  public var description: String {
    switch self {
    case .nobody(let folder):
      "No gateway runs with the folder \(folder): start one with 'vicinity serve', or name the folder of the one that "
        + "runs with --folder."
    case .noStore(let folder):
      "There is no gateway in the folder \(folder): name its folder with --folder, as 'vicinity serve' was given it."
    case .othersFolder(let folder):
      "The gateway's folder \(folder) belongs to another user: run this as that user or as root."
    case .refused(let detail): "The gateway refused: \(detail)."
    case .failed(let cause): "The gateway did not answer: \(cause)."
    }
  }
}

extension Gateway {
  /// Opens the store of a stopped gateway.
  static func openStoredDatabase(in folder: String) throws(PairingFailure) -> Writer {
    let path = "\(folder)/\(storeName)"
    guard access(path, F_OK) == 0 else {
      if errno == EACCES { throw .othersFolder(folder: folder) }
      throw .noStore(folder: folder)
    }
    do {
      return try Writer(path, schema: .gateway)
    } catch {
      throw .failed("\(error)")
    }
  }
}
