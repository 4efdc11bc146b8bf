internal import Media

/// A check of the shared folders in which a host is to meet others.
package enum FolderCheck {
  package static func findings(_ media: [HostMedium]) -> [Finding] {
    media.compactMap { medium in
      guard case .folder(let path) = medium else { return nil }
      if let trouble = trouble(with: medium) { return trouble }
      return Finding(.folder, .good, "Hosts can meet in the folder \(path).")
    }
  }

  /// Nil for one that works, and for every other medium.
  package static func trouble(with medium: HostMedium) -> Finding? {
    guard case .folder(let path) = medium else { return nil }
    do throws(Trouble) {
      try HostNetwork.expectUsable(folder: path)
      return nil
    } catch {
      return Finding(.folder, .bad, error.cause, cure: error.cure)
    }
  }
}
