internal import COpenSSL

/// OpenSSL's record of its last failure on this thread.
struct OpenSSLError: Error, CustomStringConvertible {
  let reason: CInt
  let description: String

  /// Takes the newest entry, which is nearest to the caller, and clears the rest.
  static func take() -> OpenSSLError {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    let text = ERR_reason_error_string(code).map { String(cString: $0) }
    return OpenSSLError(reason: ERR_GET_REASON(code), description: text ?? "OpenSSL error \(code)")
  }
}

/// Evaluated before anything else of OpenSSL: at exit it would clean up while threads are still closing their links.
let openSSLStaysUntilTheEnd: Void = expect(
  OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1, "begin")

/// For calls that fail only where memory is out or the library is broken.
func expect(_ succeeded: Bool, _ what: StaticString) {
  if !succeeded { fatalError("OpenSSL could not \(what): \(OpenSSLError.take())") }
}

func expect(_ made: OpaquePointer?, _ what: StaticString) -> OpaquePointer {
  expect(made != nil, what)
  return made.unsafelyUnwrapped
}
