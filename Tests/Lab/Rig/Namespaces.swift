internal import Glibc

/// The namespaces that a process is in, and the ways into them and out of those we are in.
///
/// A user namespace makes this process root inside if it is not root already.
struct Namespaces: Sendable {
  enum Kind: String, Sendable {
    case network, mount, host = "uts", process

    var option: String {
      switch self {
      case .network: "--net"
      case .mount: "--mount"
      case .host: "--uts"
      case .process: "--pid"
      }
    }
  }

  /// The process number as this process sees it.
  let process: pid_t

  private static let isRoot = geteuid() == 0

  /// The command, inside these namespaces. Who enters that of processes does so with a child.
  func entering(_ kinds: [Kind], _ command: [String]) -> [String] {
    ["nsenter", "--target", "\(process)"] + (Self.isRoot ? [] : ["--user", "--preserve-credentials"])
      + kinds.map(\.option) + ["--"] + command
  }

  /// A shell in new namespaces, as their first process: all processes in them end with it. It runs the script, prints
  /// `up` and its process number, and then waits for the end of its input.
  static func opening(_ kinds: [Kind], isOutermost: Bool, script: String, _ arguments: [String]) -> [String] {
    let whole = """
      set -e
      read -r number _ </proc/self/stat
      \(script)
      echo "up $number"
      while read -r _; do :; done
      """
    return ["unshare"] + (isOutermost && !isRoot ? ["--user", "--map-root-user"] : []) + kinds.map(\.option)
      + ["--fork", "--kill-child", "bash", "--norc", "-c", whole, "bash"] + arguments
  }
}
