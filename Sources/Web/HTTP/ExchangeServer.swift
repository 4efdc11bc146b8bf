internal import CMicroHTTPD

/// The server of an exchange, which owns its connection; all calls are on the loop.
protocol ExchangeServer: AnyObject {
  var meter: WebMeter { get }
  /// The pace of a body that begins.
  var pace: Pace { get }

  func refusal(_ fault: WebFault, _ head: Head?) -> Response
  func queue(_ response: Response, for exchange: Exchange?, on connection: OpaquePointer) -> MHD_Result

  /// Suspends the exchange until it is resumed, and watches meanwhile whether the client leaves.
  func suspend(_ connection: OpaquePointer)
  /// Calls the exchange again in a later turn.
  func resume(_ connection: OpaquePointer)
  /// Resumes the exchange in one of the next turns.
  func wake(_ exchange: Exchange)
  /// Whether a client that sends nothing is cut off after the idle timeout.
  func setIdleTimeout(of connection: OpaquePointer, isOn: Bool)
}
