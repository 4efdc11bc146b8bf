internal import Glibc
internal import Nearby

/// The file with the name from the first start, beside the keys that it belongs to.
struct NameFile {
  let path: String
  /// The longest name that the network allows.
  static let bytesMax = 63

  /// Nil where no keys are stored.
  init?(_ keys: KeyStorage) {
    switch keys {
    case .ephemeral: return nil
    case .folder(let folder): path = folder + "/name"
    case .standard:
      // The XDG rules have a relative path ignored.
      let data = Terminal.environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
      guard let data = data ?? Terminal.environment("HOME").map({ $0 + "/.local/share" }) else { return nil }
      path = data + "/vicinity/name"
    }
  }

  func read() -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: Self.bytesMax + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    let line = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
    guard let name = PlainText.text(of: Array(line)), Self.fault(of: name) == nil else { return nil }
    return name
  }

  /// Saves a name; false where that fails.
  func write(_ name: String) -> Bool {
    makeFolder(above: path)
    guard let file = fopen(path, "we") else { return false }
    let bytes = Array((name + "\n").utf8)
    let count = fwrite(bytes, 1, bytes.count, file)
    return fclose(file) == 0 && count == bytes.count
  }

  /// The problem with a name and its remedy; nil for a valid name.
  static func fault(of name: String) -> String? {
    do {
      try Peer.check(name: name)
      return nil
    } catch {
      return error.description
    }
  }

  /// The default name: user and host.
  static var defaultName: String {
    var host = [CChar](repeating: 0, count: 65)
    gethostname(&host, host.count - 1)
    let letters = host.map { UInt8(truncatingIfNeeded: $0) }.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }
    let machine = String(decoding: letters, as: UTF8.self)
    let user = getpwuid(geteuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) }
    var name = [user, machine].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "@")
    while name.utf8.count > bytesMax { name.removeLast() }
    return name.isEmpty ? "somebody" : name
  }

  private func makeFolder(above path: String) {
    let parts = path.split(separator: "/").dropLast()
    var folder = path.hasPrefix("/") ? "" : "."
    for part in parts {
      folder += "/\(part)"
      // Keys may be stored in it later.
      mkdir(folder, 0o700)
    }
  }
}
