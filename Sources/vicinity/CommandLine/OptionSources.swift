internal import Glibc

/// The sources of options beside the command line.
struct OptionSources: Sendable {
  /// The environment; an empty variable counts as not set.
  var variables: [String: String] = [:]
  /// The content of a file, or why it cannot be read; nil where there is none.
  var read: @Sendable (_ path: String) -> Result<String, Unreadable>? = { _ in nil }

  struct Unreadable: Error {
    let cause: String
  }

  static var current: OptionSources {
    OptionSources(variables: Terminal.environment, read: text)
  }

  private static func text(of path: String) -> Result<String, Unreadable>? {
    guard let file = fopen(path, "re") else {
      return errno == ENOENT || errno == ENOTDIR ? nil : .failure(Unreadable(cause: FileSystem.lastErrorText()))
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: ConfigurationFile.bytesMax + 1)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0 else { return .failure(Unreadable(cause: FileSystem.lastErrorText())) }
    guard count <= ConfigurationFile.bytesMax else {
      return .failure(Unreadable(cause: "it has more than \(ConfigurationFile.bytesMax) bytes"))
    }
    guard let text = PlainText.text(of: Array(bytes.prefix(count))) else {
      return .failure(Unreadable(cause: "it is no UTF-8"))
    }
    return .success(text)
  }
}
