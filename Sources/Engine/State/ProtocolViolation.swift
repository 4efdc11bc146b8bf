import Wire

/// A frame or behaviour that no correct host has, or that exceeds a limit of this one; it closes the link.
struct ProtocolViolation: Error {
  var reason: Reason
  var detail: String

  init(_ reason: Reason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }
}
