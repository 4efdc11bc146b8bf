internal import Glibc

/// Keeps files that the store does not know, and damaged ones, for some days: they may be the only copy.
struct Quarantine {
  static let name = "quarantine"
  /// A week, since a loss on Friday may be found on Monday.
  static let secondsMax = 7 * 86_400

  let path: String

  init(in folder: String) { path = "\(folder)/\(Self.name)" }

  /// Moves a file here under its name and the time, and returns its path; nil if it cannot be moved.
  func add(_ file: String) -> String? {
    if mkdir(path, 0o700) != 0, errno != EEXIST { return nil }
    let (now, name) = (time(nil), file.split(separator: "/").last ?? "file")
    for number in 0..<Self.sameNameMax {
      let place = "\(path)/\(now)-\(number)-\(name)"
      if access(place, F_OK) != 0 { return rename(file, place) == 0 ? place : nil }
    }
    return nil
  }

  /// Limit within a second for files of one name from several folders.
  private static let sameNameMax = 10_000

  /// Removes files that have been there for `secondsMax`.
  func removeExpired(at now: Int = time(nil)) {
    for name in Folder.names(in: path) {
      guard let since = name.split(separator: "-").first.flatMap({ Int($0) }), now - since > Self.secondsMax else {
        continue
      }
      unlink("\(path)/\(name)")
    }
  }
}
