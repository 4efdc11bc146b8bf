package import Store

extension Schema {
  /// The database of a durable host.
  static let host = Schema([.host])
}

extension Schema.Layer {
  /// The tables of a host. Each family of tables is one file, with its migrations and its queries.
  package static let host = Schema.Layer("host", [.facts, .transfers], counted: 0..<2)
}
