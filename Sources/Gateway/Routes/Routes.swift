/// All that the gateway answers to; `openapi/vicinity.yaml` says the same.
enum Routes {
  static let all =
    gateway + operations + clients + trust + peers + invitations + sessions + comparisons + connections + messages
    + streams
    + resources
}
