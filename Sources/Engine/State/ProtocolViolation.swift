import Wire

/// What the other side of a link did that no correct host does, or that this one does not put up with.
struct ProtocolViolation: Error {
  var reason: Reason
  var detail: String

  init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }
}
