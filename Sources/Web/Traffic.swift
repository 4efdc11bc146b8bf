/// Byte counts of one client over all of its connections: bodies of requests and responses, and WebSocket data.
package final class Traffic {
  package internal(set) var bytesReceived = 0
  package internal(set) var bytesSent = 0

  package init() {}
}
