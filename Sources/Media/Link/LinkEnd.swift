public import Reactor

public enum LinkEnd: Error, Hashable, CustomStringConvertible {
  case closedHere
  /// The other side closed it in good order.
  case closedThere
  /// The connection broke without a bye: a lost cable, a process that was killed, or an attacker who cuts.
  case cut
  case handshakeTimedOut
  /// Newer connections evicted it before its handshake was done.
  case crowdedOut
  /// The handshake failed over the identity of one side.
  case refused(Refusal)
  /// The other side broke TLS, after the handshake.
  case broken(String)
  case failed(SystemError)

  public enum Refusal: Hashable, Sendable {
    case notTLS
    case noCertificate
    case wrongCertificate
    case noCommonProtocol
    /// The other side refused us, in the words of its TLS alert.
    case byTheOtherSide(String)
    /// Another fault, in OpenSSL's words.
    case other(String)
  }

  public var description: String {
    switch self {
    case .closedHere: "closed here"
    case .closedThere: "closed by the other side"
    case .cut: "the connection broke without a goodbye"
    case .handshakeTimedOut: "the other side did not finish the handshake in time"
    case .crowdedOut: "too many connections came before its handshake was done"
    case .refused(.notTLS): "what answered does not speak TLS 1.3; is it a host of this protocol?"
    case .refused(.noCertificate): "the other side showed no certificate with a host key"
    case .refused(.wrongCertificate): "the other side's certificate does not carry exactly one Ed25519 host key"
    case .refused(.noCommonProtocol): "there is no common protocol; this side speaks \(LinkContext.applicationProtocol)"
    case .refused(.byTheOtherSide(let alert)): "the other side refused: \(alert)"
    case .refused(.other(let reason)): "the handshake failed: \(reason)"
    case .broken(let reason): "the connection was damaged or tampered with: \(reason)"
    case .failed(let error): "\(error)"
    }
  }
}
