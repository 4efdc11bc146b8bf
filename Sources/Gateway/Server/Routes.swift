/// All routes of the gateway; `openapi/vicinity.yaml` describes the same.
enum Routes {
  static let all =
    gateway + operations + clients + trust + peers + invitations + sessions + comparisons + connections + messages
    + streams
    + resources + radios + bluetoothPairings
}
