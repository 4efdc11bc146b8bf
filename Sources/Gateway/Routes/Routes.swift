/// All that the gateway answers to; `openapi/vicinity.yaml` says the same.
enum Routes {
  static let all = gateway + clients + peers + invitations + sessions + connections + messages + streams + resources
}
