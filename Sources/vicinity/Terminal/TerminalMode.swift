internal import Glibc
internal import Synchronization

/// Raw mode: the terminal delivers each key at once, without echo, until the mode is left.
///
/// At any end of the process, the settings that it changed are restored; all others keep their current values.
enum TerminalMode {
  /// Flags of the terminal that were on and are switched off. They are plain numbers, and no `termios?`: the optimiser
  /// lays out a nil of a C struct in a static initialiser as zeros that are not nil.
  private struct Cleared: Sendable {
    var local: tcflag_t
    var input: tcflag_t
  }

  private struct State: Sendable {
    /// The changed flags; nil while none are changed.
    var cleared: Cleared?
    var isWanted = false
  }

  /// Ctrl-C and Ctrl-Z stay signals.
  private static let off = Cleared(local: tcflag_t(ICANON | ECHO), input: tcflag_t(ICRNL | IXON))

  private static let state = Mutex(State())

  /// Whether the process is in the foreground: a background job that reads or changes the terminal would be stopped.
  static var isInForeground: Bool {
    let group = tcgetpgrp(STDIN_FILENO)
    return group == -1 || group == getpgrp()
  }

  /// Enters raw mode; false where there is no terminal to change.
  static func enter() -> Bool {
    state.withLock { state in
      var mode = termios()
      guard isInForeground, tcgetattr(STDIN_FILENO, &mode) == 0 else { return false }
      if state.cleared == nil {
        state.cleared = Cleared(local: mode.c_lflag & off.local, input: mode.c_iflag & off.input)
      }
      mode.c_lflag &= ~off.local
      mode.c_iflag &= ~off.input
      state.isWanted = true
      return tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) == 0
    }
  }

  /// Enters raw mode again in a process that was stopped and is continued.
  static func enterAgain() {
    if state.withLock({ $0.isWanted }) { _ = enter() }
  }

  /// Leaves raw mode until it is entered again.
  static func leave() {
    state.withLock { state in
      var mode = termios()
      guard let cleared = state.cleared, isInForeground, tcgetattr(STDIN_FILENO, &mode) == 0 else { return }
      mode.c_lflag |= cleared.local
      mode.c_iflag |= cleared.input
      tcsetattr(STDIN_FILENO, TCSANOW, &mode)
      state.cleared = nil
    }
  }

  /// Leaves raw mode for good.
  static func end() {
    leave()
    state.withLock { $0.isWanted = false }
  }
}
