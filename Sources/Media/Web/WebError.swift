public import Reactor

/// Why a fetch failed, and what to do.
public enum WebError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Wait: String, Hashable, Sendable {
    case connection = "did not accept a connection"
    case answer = "did not answer"
    case bytes = "sent nothing more"
    case end = "had not sent all of it"
  }

  case unsupported(scheme: String)
  case invalidURL(String)
  case unknownName(host: String)
  case lookupFailed(host: String, String)
  case forbidden(host: String, SocketAddress)
  case unreachable(host: String, SystemError)
  case timedOut(host: String, Wait)
  /// Its certificate is not trusted, in OpenSSL's words.
  case notBelieved(host: String, String)
  /// TLS failed, in OpenSSL's words.
  case insecure(host: String, String)
  case malformed(host: String, String)
  case headTooLong(host: String)
  case refused(host: String, status: Int)
  case tooManyRedirects(max: Int)
  /// From https to http, where anybody could change the content.
  case downgrade(to: WebURL)
  case tooLarge(bytesMax: UInt64)
  /// The size is nil where the server did not say.
  case cutShort(host: String, received: UInt64, size: UInt64?)
  /// The server has less than the offset of the resumption.
  case nothingThere(offset: UInt64)
  case tooManyLookups
  case cancelled

  public var description: String {
    switch self {
    case .unsupported(let scheme):
      "“\(scheme)” URLs cannot be fetched; give one with http or https, or a file."
    case .invalidURL(let fault):
      "This is not a URL that can be fetched: \(fault). One that can is http://example.org/picture.jpg."
    case .unknownName(let host):
      "There is no host “\(host)”; check its name, and that this computer reaches a name server."
    case .lookupFailed(let host, let words):
      "The name “\(host)” could not be looked up: \(words); try again later."
    case .forbidden(let host, let address):
      "“\(host)” is at \(address), \(AddressPolicy.kind(of: address).rawValue), which nothing is fetched from here; give one of another host."
    case .unreachable(let host, let error):
      "“\(host)” cannot be reached: \(error); check the URL, and that its server is there."
    case .timedOut(let host, let wait):
      "“\(host)” \(wait.rawValue) in time; try again later."
    case .notBelieved(let host, let words):
      "Whoever answered as “\(host)” could not prove it: \(words); if it is your own server, add its anchor."
    case .insecure(let host, let words):
      "There is no secure connection to “\(host)”: \(words)."
    case .malformed(let host, let fault):
      "What “\(host)” answered is not HTTP as it should be: \(fault)."
    case .headTooLong(let host):
      "“\(host)” answered with a head of more than \(ResponseHead.bytesMax) bytes or \(ResponseHead.fieldsMax) fields."
    case .refused(let host, let status):
      "“\(host)” answered with status \(status)\(meaning(of: status))."
    case .tooManyRedirects(let max):
      "The URL was redirected more than \(max) times, perhaps in a circle; give the one that it should lead to."
    case .downgrade(let url):
      "The server redirects to \(url), which is not secure as the URL given is; give that one if it is meant."
    case .tooLarge(let bytesMax):
      "There are more than \(bytesMax) bytes, which is the most that is fetched."
    case .cutShort(let host, let received, let size):
      "“\(host)” sent \(received) bytes\(size.map { " of \($0)" } ?? ""), and then the connection ended; go on from there."
    case .nothingThere(let offset):
      "The server has no more than \(offset) bytes now: it is not what was begun; fetch it anew."
    case .tooManyLookups:
      "Too many names are being looked up; try again in a few seconds."
    case .cancelled:
      "It was cancelled."
    }
  }
}

private func meaning(of status: Int) -> String {
  switch status {
  case 401, 403, 407: " (it is not for everybody)"
  case 404, 410: " (it is not there)"
  case 429, 503: " (it has too much to do; try again later)"
  case 500...: " (it has a fault of its own; try again later)"
  default: ""
  }
}
