internal import FoundationEssentials

/// The programs that tests start, by their paths.
public enum BuiltProgram {
  public struct Missing: Error, CustomStringConvertible {
    public let description: String
  }

  /// A program of the tests' own, which SwiftPM puts beside them.
  public static func besideTests(_ name: String) throws -> String { try buildFolder().appending(path: name).path }

  /// `vicinity` as people get it: the release build, or what VICINITY in the environment names.
  ///
  /// One that is older than what it is built from would pass for one that was tested.
  public static func vicinity() throws -> String { try found.get() }

  private static let found = Result { () throws(Missing) -> String in
    if let named = ProcessInfo.processInfo.environment["VICINITY"] { return named }
    let cure = "'./vic build' makes it, and VICINITY names another one"
    guard let folder = try? buildFolder() else { throw Missing(description: "the tests' own folder is not known") }
    let program = folder.deletingLastPathComponent().appending(path: "release/vicinity")
    guard let built = modified(program.path) else {
      throw Missing(description: "there is no release build at \(program.path): \(cure)")
    }
    if let newer = sources().first(where: { modified($0).map { $0 > built } ?? false }) {
      throw Missing(description: "\(newer) is newer than \(program.path): \(cure)")
    }
    return program.path
  }

  private static func buildFolder() throws -> URL {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: tests).deletingLastPathComponent()
  }

  private static func modified(_ path: String) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
  }

  /// The sources of all targets that are in the program.
  private static func sources() -> [String] {
    let others = ["Simulator/", "simulate/"]
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
    return paths.filter { path in path.hasSuffix(".swift") && !others.contains { path.hasPrefix($0) } }.map {
      folder.appending(path: $0).path
    }
  }
}
