internal import Engine
internal import Media
internal import Synchronization
internal import Wire

/// The state that a transfer's program and its loop share.
final class TransferState: Sendable {
  let id: ResourceID
  let progress = Mailbox<ResourceProgress>(weightMax: .max)
  /// The path of a received file, or the error.
  let outcome = Promise<Result<String, NearbyError>>()
  let name: String
  /// The path of the file that is sent.
  let file: String?
  private let known = Mutex<Digest?>(nil)

  init(_ id: ResourceID, _ name: String, sending file: SourceFile? = nil) {
    self.id = id
    self.name = name
    self.file = file?.path
  }

  func end(_ reason: Reason) {
    end(reason == .none ? .success("") : .failure(NearbyError(reason, of: "the transfer of \(name)")))
  }

  func end(_ result: Result<String, NearbyError>) {
    outcome.settle(result)
    progress.finish()
  }

  /// SHA-256 of a received content, known before the transfer succeeds, where its file was hashed.
  var digest: Digest? { known.withLock { $0 } }
  func learn(_ digest: Digest?) { known.withLock { $0 = digest } }

  func finished() async throws(NearbyError) -> String { try await outcome.value.get() }
}
