internal import Glibc

/// A page that only this user can read; it redirects a browser to the dashboard, with a code of its own.
///
/// Invariant: the code is in no command line, which every user of a machine can read.
struct OpeningPage: Sendable {
  private let path: String

  /// Writes the page in the gateway's folder; it replaces one that an earlier start has left.
  init(_ url: String, in folder: String) throws(Failure) {
    path = "\(folder)/open.html"
    let page = """
      <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
      <meta http-equiv="refresh" content="0; url=\(url)"><title>Vicinity</title><a href="\(url)">Open the dashboard</a>

      """
    _ = unlink(path)
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    let isWritten = file >= 0 && write(file, page, page.utf8.count) == page.utf8.count
    let fault = errno
    if file >= 0 { close(file) }
    if !isWritten { throw Failure(.failed, "\(path) cannot be written: \(String(cString: strerror(fault))).") }
  }

  func remove() { _ = unlink(path) }

  /// Asks the desktop to open the page; returns nil on success, and the obstacle otherwise.
  func show() -> String? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for number: CInt in [1, 2] { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0) }
    let words: [UnsafeMutablePointer<CChar>?] = ["xdg-open", path].map { (word: String) in strdup(word) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let fault = posix_spawnp(&process, "xdg-open", &actions, nil, words, environ)
    if fault == 0 { return nil }
    return "No browser can be opened: xdg-open does not start (\(String(cString: strerror(fault)))). "
      + "Install xdg-utils, or open the address above."
  }
}
