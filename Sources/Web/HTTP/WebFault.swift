/// A reason for which the server itself refuses a request.
package struct WebFault: Error, Hashable, CustomStringConvertible, Sendable {
  /// The HTTP status of the refusal.
  package let status: Int
  /// The problem and its remedy, as a sentence.
  package let description: String
  /// The name of the limit that it exceeds, as `/v1/gateway` lists it, and the limit's value.
  package let rule: String?
  package let limit: Int?

  package init(_ status: Int, _ description: String, rule: String? = nil, limit: Int? = nil) {
    self.status = status
    self.description = description
    self.rule = rule
    self.limit = limit
  }
}
