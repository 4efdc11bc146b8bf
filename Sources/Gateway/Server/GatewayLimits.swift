/// The limits of a gateway that its operator may set, most of them upper and some lower ones. `/v1/gateway` shows these
/// and the fixed ones.
public struct GatewayLimits: Sendable {
  var connections = 16_384
  var connectionsPerClient = 1_024
  var clients = 10_000
  var peersPerClient = 64
  var advertisersPerPeer = 64
  var browsersPerPeer = 64
  var sessionsPerPeer = 256
  var streamsPerSession = 1_024
  var resourcesPerSession = 1_024
  var resourceBytes = 1 << 41
  var resourceBytesPerClient = 1 << 34
  var historyBytes = 1 << 34
  var historyBytesPerClient = 1 << 36
  var memoryHistoryBytes = 1 << 28
  var diskFreeBytes = 1 << 26
  var subscriptionsPerSocket = 256
  var requestsPerSocket = 64

  public init() {}

  /// One limit, by its name in options and problems.
  public struct Entry: Sendable {
    /// Such as `peers-per-client-max`.
    public let option: String
    public let summary: String
    public let range: ClosedRange<Int>
    /// The name in `/v1/gateway`.
    let name: String
    let place: any WritableKeyPath<GatewayLimits, Int> & Sendable
  }

  public subscript(entry: Entry) -> Int {
    get { self[keyPath: entry.place] }
    set { self[keyPath: entry.place] = min(max(newValue, entry.range.lowerBound), entry.range.upperBound) }
  }

  public static let all: [Entry] = [
    // Each WebSocket takes three descriptors, and a process has 65,536.
    Entry(
      option: "connections-max", summary: "connections of all clients together", range: 16...65_536,
      name: "connections", place: \.connections),
    Entry(
      option: "connections-per-address-max", summary: "of them from one address, or one network of IPv6",
      range: 4...65_536, name: "connectionsPerAddress", place: \.connectionsPerClient),
    Entry(
      option: "clients-max", summary: "clients that hold a token", range: 1...100_000, name: "clients",
      place: \.clients),
    Entry(
      option: "peers-per-client-max", summary: "peers of one client", range: 1...10_000, name: "peersPerClient",
      place: \.peersPerClient),
    Entry(
      option: "advertisers-per-peer-max", summary: "advertisers of one peer", range: 1...1_000,
      name: "advertisersPerPeer", place: \.advertisersPerPeer),
    Entry(
      option: "browsers-per-peer-max", summary: "browsers of one peer", range: 1...1_000, name: "browsersPerPeer",
      place: \.browsersPerPeer),
    Entry(
      option: "sessions-per-peer-max", summary: "sessions that one peer is in", range: 1...10_000,
      name: "sessionsPerPeer", place: \.sessionsPerPeer),
    Entry(
      option: "streams-per-session-max", summary: "streams of one end of a session", range: 1...100_000,
      name: "streamsPerSession", place: \.streamsPerSession),
    Entry(
      option: "resources-per-session-max", summary: "resources of one end of a session", range: 1...100_000,
      name: "resourcesPerSession", place: \.resourcesPerSession),
    Entry(
      option: "resource-bytes-max", summary: "bytes of a resource that is uploaded here", range: 1...1 << 41,
      name: "resourceBytes", place: \.resourceBytes),
    Entry(
      option: "resource-bytes-per-client-max",
      summary: "quota: bytes that all resources of one client, sent and received, take here", range: 1...1 << 50,
      name: "resourceBytesPerClient", place: \.resourceBytesPerClient),
    Entry(
      option: "history-bytes-max", summary: "bytes of messages that one session may keep on the disk",
      range: 1 << 20...1 << 42, name: "historyBytes", place: \.historyBytes),
    Entry(
      option: "history-bytes-per-client-max",
      summary: "quota: bytes of messages that all sessions of one client may keep on the disk",
      range: 1 << 20...1 << 50, name: "historyBytesPerClient", place: \.historyBytesPerClient),
    Entry(
      option: "memory-history-bytes-max", summary: "bytes of messages that one session may keep in memory",
      range: 1 << 20...1 << 30, name: "memoryHistoryBytes", place: \.memoryHistoryBytes),
    Entry(
      option: "disk-free-bytes-min", summary: "bytes that stay free on the disk: with less, nothing more is stored",
      range: 0...1 << 50, name: "diskFreeBytes", place: \.diskFreeBytes),
    Entry(
      option: "subscriptions-per-socket-max", summary: "channels to which one WebSocket subscribes", range: 1...10_000,
      name: "subscriptionsPerSocket", place: \.subscriptionsPerSocket),
    Entry(
      option: "requests-per-socket-max", summary: "requests in progress on one WebSocket", range: 1...1_024,
      name: "requestsPerSocket", place: \.requestsPerSocket),
  ]
}
