/// Why the server itself refuses a request.
package struct WebFault: Error, Hashable, CustomStringConvertible, Sendable {
  /// The HTTP status that says so.
  package let status: Int
  /// What is wrong and what to do, as a sentence.
  package let description: String
  /// What it breaks, as `/v1/gateway` names it among its limits, and how much may be.
  package let rule: String?
  package let limit: Int?

  package init(_ status: Int, _ description: String, rule: String? = nil, limit: Int? = nil) {
    self.status = status
    self.description = description
    self.rule = rule
    self.limit = limit
  }
}
