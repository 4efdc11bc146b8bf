/// The program's exit codes. The help of every command lists the ones that it can end with.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case failed = 1
  case usage = 2
  case notFound = 3
  case refused = 4
  case lost = 5
  case interrupted = 130
  case terminated = 143

  var summary: String {
    switch self {
    case .done: "done"
    case .failed: "failed"
    case .usage: "usage error: the command line is not valid"
    case .notFound: "no peer was found, or answered, in time"
    case .refused: "declined or refused"
    case .lost: "the connection was lost"
    case .interrupted: "interrupted (Ctrl-C)"
    case .terminated: "terminated (SIGTERM)"
    }
  }
}
