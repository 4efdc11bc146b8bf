internal import CLinux
internal import Glibc

/// An open file descriptor; it closes with its last use.
public struct Descriptor: ~Copyable, Sendable {
  /// For C libraries that take a descriptor and leave it open; valid while this value lives.
  public let number: CInt

  public init(owning number: CInt) {
    precondition(number >= 0, "a descriptor is never \(number)")
    self.number = number
  }

  deinit {
    // On Linux the descriptor is gone even where close() reports an error, so there is nothing to try again.
    _ = close(number)
  }
}
