internal import Engine
internal import Media
internal import Wire

/// A transfer as its program and its loop share it.
final class TransferState: Sendable {
  let id: ResourceID
  let progress = Mailbox<ResourceProgress>(weightMax: .max)
  /// None, and the path where it was received; or why it failed.
  let outcome = Promise<Result<String, NearbyError>>()
  let name: String
  /// Which is sent.
  let file: String?

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

  func finished() async throws(NearbyError) -> String { try await outcome.value.get() }
}
