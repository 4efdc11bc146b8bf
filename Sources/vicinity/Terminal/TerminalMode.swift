internal import Glibc
internal import Synchronization

/// Whether the terminal hands over each key at once, without showing it, or lines as usual.
///
/// However the process ends, it leaves the terminal as it found it.
enum TerminalMode {
  private struct State: Sendable {
    /// As it was before; nil while nothing was changed.
    nonisolated(unsafe) var original: termios?  // a value of numbers
    var isWanted = false
  }

  private static let state = Mutex(State())

  /// A job in the background that reads from the terminal, or changes it, would be stopped.
  static var isInForeground: Bool {
    let group = tcgetpgrp(STDIN_FILENO)
    return group == -1 || group == getpgrp()
  }

  /// False where there is no terminal to change.
  static func enter() -> Bool {
    state.withLock { state in
      var mode = termios()
      guard isInForeground, tcgetattr(STDIN_FILENO, &mode) == 0 else { return false }
      if state.original == nil { state.original = mode }
      // Ctrl-C and Ctrl-Z stay signals.
      mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
      mode.c_iflag &= ~tcflag_t(ICRNL | IXON)
      state.isWanted = true
      return tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) == 0
    }
  }

  /// For a process that was stopped and goes on.
  static func enterAgain() {
    if state.withLock({ $0.isWanted }) { _ = enter() }
  }

  static func leave() {
    state.withLock { state in
      guard var original = state.original, isInForeground else { return }
      tcsetattr(STDIN_FILENO, TCSANOW, &original)
    }
  }

  /// For good.
  static func end() {
    leave()
    state.withLock { $0.isWanted = false }
  }
}
