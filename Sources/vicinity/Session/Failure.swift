internal import Nearby

/// The reason why a command fails: an exit code, and a sentence with the problem, its cause and its remedy.
struct Failure: Error, Sendable {
  let code: ExitCode
  let sentence: String
  /// The library's error code, if there is one: it is the problem's type in REST.
  var error: NearbyError.Code?
  /// The reason, by its name in the library and in REST.
  var reason: String?

  init(_ code: ExitCode, _ sentence: String, reason: String? = nil) {
    self.code = code
    self.sentence = sentence
    self.reason = reason
    // The usage of the command line, or of a line on standard input, was wrong.
    error = code == .usage ? .invalidParameter : nil
  }

  init(_ error: NearbyError) { self.init(ExitCode(error), error) }

  /// An error that ends the program with another exit code than most of its kind.
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
