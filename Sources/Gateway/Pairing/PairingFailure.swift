/// Why there is no pairing code.
public enum PairingFailure: Error, Hashable, CustomStringConvertible {
  case nobody(folder: String)
  /// Nothing was ever stored there.
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
      "The gateway's folder \(folder) belongs to another user: ask as that user or as root."
    case .refused(let detail): "The gateway gave no code: \(detail)."
    case .failed(let cause): "The gateway could not be asked: \(cause)."
    }
  }
}
