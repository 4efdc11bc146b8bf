/// Bytes that were received from somebody, and sent to them, on all of their connections: bodies of requests and responses,
/// and what WebSockets carry.
package final class Traffic {
  package internal(set) var bytesReceived = 0
  package internal(set) var bytesSent = 0

  package init() {}
}
