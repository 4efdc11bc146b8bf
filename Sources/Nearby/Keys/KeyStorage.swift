internal import Glibc

/// The storage of a host's keys.
public enum KeyStorage: Hashable, Sendable {
  /// The user's data folder: `$XDG_DATA_HOME/vicinity`, or `~/.local/share/vicinity`.
  case standard
  /// A folder, which is created where it is missing. Each host has one of its own.
  case folder(String)
  /// Nowhere: with the process, the host and its peers are gone for good.
  case ephemeral

  /// The folder's path; nil for one that keeps nothing.
  package func path(environment: (String) -> String? = KeyStorage.environment) throws(KeyStoreError) -> String? {
    switch self {
    case .ephemeral:
      return nil
    case .folder(let path):
      return path
    case .standard:
      // The XDG rules have a relative path ignored.
      if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/vicinity" }
      guard let user = environment("HOME"), user.hasPrefix("/") else { throw .noStandardFolder }
      return user + "/.local/share/vicinity"
    }
  }
}

extension KeyStorage {
  package static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
