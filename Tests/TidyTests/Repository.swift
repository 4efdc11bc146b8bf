import Foundation

/// The working tree that these tests were built from.
enum Repository {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// Every text file but what tools have made, read once.
  static let files: [SourceFile] = textPaths().map { path in
    // Read as bytes, since a byte that is not UTF-8 is a finding for a person, not a reason to stop.
    let bytes = FileManager.default.contents(atPath: root.appending(path: path).path) ?? Data()
    return SourceFile(path: path, text: String(decoding: bytes, as: UTF8.self))
  }

  static var swiftFiles: [SourceFile] { files.filter(\.isSwift) }

  static func file(_ path: String) -> SourceFile? {
    files.first { $0.path == path }
  }

  static func holds(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  private static let textEndings: Set<String> = [
    "swift", "c", "h", "modulemap", "md", "txt", "sh", "py", "js", "mjs", "ts", "css", "html", "sql", "yaml", "yml",
    "json",
    "gitignore", "editorconfig", "swift-format",
  ]
  private static let textNames: Set<String> = ["vic", "run", "LICENSE", "NOTICE", "Dockerfile"]

  private static func textPaths() -> [String] {
    var paths: [String] = []
    var folders = [""]
    while let folder = folders.popLast() {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
      for name in names.sorted() where ![".build", ".git", "node_modules"].contains(name) {
        let path = folder + name
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: root.appending(path: path).path, isDirectory: &isFolder)
        if isFolder.boolValue {
          folders.append(path + "/")
        } else if textNames.contains(name) || textEndings.contains(String(name.split(separator: ".").last ?? "")) {
          paths.append(path)
        }
      }
    }
    return paths.sorted()
  }
}
