internal import Engine

/// A resource on its way to a member. It continues whether this is referenced or not.
///
/// ```swift
/// let picture = try await session.send(.file("cat.jpg"), to: member)
/// for await progress in picture.progress { print(progress.bytes, progress.bytesPerSecond) }
/// try await picture.finished()
/// ```
public final class OutgoingResource: Sendable {
  public let member: Member
  public let name: String
  /// The path of the file that is sent, where it is one.
  public let file: String?
  /// The receiver's latest progress. It ends with the transfer.
  public let progress: Events<ResourceProgress>
  let state: TransferState
  private let loop: Loop

  init(_ state: TransferState, to member: Member, _ loop: Loop) {
    self.member = member
    name = state.name
    file = state.file
    progress = Events(mailbox: state.progress)
    self.state = state
    self.loop = loop
  }

  /// Returns when the receiver holds all of it.
  public func finished() async throws(NearbyError) { _ = try await state.finished() }

  public func cancel() async { try? await loop.run { [id = state.id] in $0.cancel(id) } }
}
