internal import Nearby

/// Why a command ends without success: how, and a sentence that says what, why and what to do.
struct Failure: Error, Sendable {
  let code: ExitCode
  let sentence: String
  /// The name that the library has for it, where it has one: REST has it as the problem's type.
  var error: NearbyError.Code?
  /// Why, by the name that it has in the library and by REST too.
  var reason: String?

  init(_ code: ExitCode, _ sentence: String, reason: String? = nil) {
    self.code = code
    self.sentence = sentence
    self.reason = reason
    // The line that the program was started with, or one that was said to it.
    error = code == .usage ? .invalidParameter : nil
  }

  init(_ error: NearbyError) { self.init(ExitCode(error), error) }

  /// For an error that ends the program with another code than most of its kind.
  init(_ code: ExitCode, _ error: NearbyError) {
    self.init(code, error.description, reason: error.reasonName)
    self.error = error.code
  }
}

extension ExitCode {
  init(_ error: NearbyError) {
    if let reason = error.reason {
      self.init(reason)
      return
    }
    self =
      switch error.code {
      case .invalidParameter: .usage
      case .timedOut: .notFound
      case .notConnected: .lost
      case .unknown, .unsupported, .cancelled, .unavailable: .failed
      }
  }

  init(_ reason: Reason) {
    self =
      switch reason {
      case .none, .already: .done
      case .timedOut: .notFound
      case .declined, .full, .encryption, .untrusted, .blocked, .removed, .locked, .notIntroduced, .busy: .refused
      case .lost, .unreachable, .gone, .left, .slow, .idle, .conflict, .stopping: .lost
      case .cancelled, .protocolViolation, .duplicate, .version, .mismatch, .tooLarge, .unreadable, .unwritable: .failed
      }
  }
}
