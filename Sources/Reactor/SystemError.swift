internal import CLinux
internal import Glibc

/// A failed system call: the operation, and the error's number, name and text.
public struct SystemError: Error, Hashable, CustomStringConvertible {
  public let operation: String
  public let code: CInt

  public init(_ operation: String, code: CInt) {
    self.operation = operation
    self.code = code
  }

  /// Whether the disk is full, or its user's quota.
  package var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

  /// The error's symbol, such as `ECONNREFUSED`.
  public var name: String {
    strerrorname_np(code).map { String(cString: $0) } ?? "errno \(code)"
  }

  public var description: String {
    let text = strerrordesc_np(code).map { String(cString: $0) } ?? "unknown error"
    return "\(operation) failed: \(name) (\(text))"
  }
}

/// Runs a call that returns −1 on failure, again where a signal interrupted it.
@discardableResult
package func system<Count: SignedInteger>(
  _ operation: @autoclosure () -> String, _ call: () -> Count
) throws(SystemError) -> Count {
  while true {
    let result = call()
    if result != -1 { return result }
    let code = errno
    if code != EINTR { throw SystemError(operation(), code: code) }
  }
}

/// The same, with nil for a call that would block.
func systemUnlessBlocked<Count: SignedInteger>(
  _ operation: @autoclosure () -> String, _ call: () -> Count
) throws(SystemError) -> Count? {
  do throws(SystemError) {
    return try system(operation(), call)
  } catch {
    if error.code == EAGAIN || error.code == EINPROGRESS { return nil }
    throw error
  }
}
