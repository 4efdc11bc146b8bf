public import Reactor
public import Wire

/// Why a host was not reached: the outcome at each known address.
public struct DialFailure: Error, CustomStringConvertible {
  public struct Attempt: Sendable, CustomStringConvertible {
    public enum Outcome: Sendable {
      case ended(LinkEnd)
      /// Another host answered than was expected.
      case answeredBy(HostID)
      /// It had not finished when the time for the whole dial was over.
      case tookTooLong
      case notTried
    }

    public let address: SocketAddress
    public let outcome: Outcome

    var isUntried: Bool { if case .notTried = outcome { true } else { false } }

    public var description: String {
      switch outcome {
      case .ended(.failed(let error)): "\(address): \(error)"
      case .ended(let end): "\(address): \(end)"
      case .answeredBy(let host): "\(address): another host answers there, \(host)"
      case .tookTooLong: "\(address): no answer in time"
      case .notTried: "\(address): not tried, since there are too many addresses"
      }
    }
  }

  public let host: HostID?
  public let attempts: [Attempt]

  public var description: String {
    let name = host.map { "host \($0)" } ?? "the host"
    if attempts.isEmpty { return "\(name) was not reached: no address of it is known; is it advertised?" }
    return "\(name) was not reached: " + attempts.map(\.description).joined(separator: "; ")
  }
}
