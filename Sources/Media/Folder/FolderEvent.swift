internal import Reactor
internal import Synchronization

/// A report of a folder medium's worker.
enum FolderEvent: Sendable {
  /// The folder is in use from now on; connections to the own name come to this socket.
  case opened(as: FolderName, DescriptorBox)
  /// The folder is gone or unfit, and no record is known any more; it is tried again.
  case failed(Trouble)
  /// The own record is written; or why it is not.
  case published(Trouble?)
  /// A living host's record appeared or changed.
  case seen(FolderName, FolderRecord)
  case gone(FolderName)
  /// The host of a record that was asked about is there.
  case alive(FolderName)
  /// The answer to a request for a connection; nil where there is none.
  case connected(ticket: UInt64, DescriptorBox?)
}

/// A descriptor on its way to another thread, which takes it once.
final class DescriptorBox: Sendable {
  private let content: Mutex<CInt?>

  init(_ descriptor: consuming Descriptor) { content = Mutex(descriptor.release()) }

  deinit { _ = take() }

  func take() -> Descriptor? {
    guard let number = content.withLock({ $0.take() }) else { return nil }
    return Descriptor(owning: number)
  }
}
