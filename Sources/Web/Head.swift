package import Reactor

/// What a request says before its body.
package struct Head: Sendable {
  package let method: Method
  /// As it was sent, with its query.
  package let target: String
  /// The segments of the target's path, each decoded once: none for `/`, an empty one for each slash that follows another
  /// or ends the path. None is `.` or `..`, and none has a zero byte.
  package let path: [String]
  /// In the order they stand, decoded; names may repeat.
  package let query: [QueryItem]
  package let headers: Headers
  package let client: SocketAddress
  /// Whether it came over TLS.
  package let isSecure: Bool

  /// Of the first item of that name.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

package struct QueryItem: Hashable, Sendable {
  package let name: String
  /// Empty where there is no `=`.
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

package enum Method: Hashable, Sendable {
  case get, head, post, put, patch, delete, options
  /// As it was sent.
  case other(String)
}
