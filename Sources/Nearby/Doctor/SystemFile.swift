internal import Glibc

/// The system's information files.
enum SystemFile {
  /// Settings and kernel tables; longer files are cut.
  private static let bytesMax = 256 << 10

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Nil where it cannot be read.
  static func text(of path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// The names in a folder, without hidden ones; none where it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        // The kernel ends it with a zero.
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }
}
