/// Why the server itself refuses a request.
package struct WebFault: Error, Hashable, CustomStringConvertible, Sendable {
  /// The HTTP status that says so.
  package let status: Int
  /// What is wrong and what to do, as a sentence.
  package let description: String

  package init(_ status: Int, _ description: String) {
    self.status = status
    self.description = description
  }
}
