final class HostTransfer {
  enum Part {
    case sends(OpenSource.Content)
    /// For a decision.
    case waits
    case receives(IncomingFile)
  }

  let state: TransferState
  var part: Part

  init(_ state: TransferState, _ part: Part) {
    self.state = state
    self.part = part
  }

  var incomingFile: IncomingFile? { if case .receives(let incomingFile) = part { incomingFile } else { nil } }
}
