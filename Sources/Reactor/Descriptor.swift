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

  /// Gives ownership of the descriptor to the caller.
  public consuming func release() -> CInt {
    let number = number
    discard self
    return number
  }

  /// Uses a descriptor that another owner keeps.
  public static func lent<Result, Failure: Error>(
    _ number: CInt, _ body: (borrowing Descriptor) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let descriptor = Descriptor(owning: number)
    do throws(Failure) {
      let result = try body(descriptor)
      _ = descriptor.release()
      return result
    } catch {
      _ = descriptor.release()
      throw error
    }
  }

  deinit {
    // On Linux the descriptor is gone even where close() reports an error, so there is nothing to try again.
    _ = close(number)
  }
}
