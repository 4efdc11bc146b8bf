internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// The last hour of some metrics, in memory: a sample every ten seconds.
struct MetricHistory {
  static let interval: Duration = .seconds(10)
  static let samplesMax = 360

  /// A metric whose past is kept, in whole numbers; those of counters grow from the start of the gateway.
  enum Series: String, CaseIterable {
    case messagesReceived, messagesSent, bytesReceived, bytesSent, requests, requestMicroseconds
    case processorMilliseconds, memoryBytes, members, links, webSockets
  }

  private var times: [Timestamp] = []
  private var values = [[Int]](repeating: [], count: Series.allCases.count)
  /// The place of the oldest sample, once there are as many as may be.
  private var oldest = 0

  mutating func add(_ sample: (Series) -> Int, at time: Timestamp) {
    if times.count < Self.samplesMax {
      times.append(time)
      for (place, series) in Series.allCases.enumerated() { values[place].append(sample(series)) }
      return
    }
    times[oldest] = time
    for (place, series) in Series.allCases.enumerated() { values[place][oldest] = sample(series) }
    oldest = (oldest + 1) % Self.samplesMax
  }

  /// The samples, the oldest first.
  var json: JSON {
    let series = Series.allCases.enumerated().map { place, series in
      JSON.Member(series.rawValue, .list(inOrder(values[place]).map { JSON.number($0) }))
    }
    return [
      "seconds": .number(Int(Self.interval.components.seconds)),
      "times": .list(inOrder(times).map { .text($0.description) }), "series": .object(series),
    ]
  }

  private func inOrder<Value>(_ ring: [Value]) -> [Value] { Array(ring[oldest...] + ring[..<oldest]) }
}

extension Core {
  /// Adds a sample now, and from time to time.
  func recordMetrics() {
    metricHistory.add({ value(of: $0) }, at: Timestamp.now)
    reactor.schedule(after: MetricHistory.interval) { [weak self] in self?.recordMetrics() }
  }

  private func value(of series: MetricHistory.Series) -> Int {
    switch series {
    case .messagesReceived: meters.messageCount(.incoming)
    case .messagesSent: meters.messageCount(.outgoing)
    case .bytesReceived: front.map { Int($0.meter.bodyBytesIn) + Int($0.meter.socketBytesIn) } ?? 0
    case .bytesSent: front.map { Int($0.meter.bodyBytesOut) + Int($0.meter.frameBytesOut) } ?? 0
    case .requests: meters.answers.reduce(0) { $0 + $1.times.total }
    case .requestMicroseconds: Int(meters.answers.reduce(0) { $0 + $1.times.sum } / 1_000)
    case .processorMilliseconds: Int((ProcessStatistics.processorTime ?? 0) * 1_000)
    case .memoryBytes: Int(ProcessStatistics.memory?.resident ?? 0)
    case .members: sessions.values.reduce(0) { $0 + $1.counts.connected }
    case .links: host.network?.linkCount ?? 0
    case .webSockets: sockets.count
    }
  }
}

extension Meters {
  fileprivate func messageCount(_ direction: Direction) -> Int {
    messages(direction, .reliable).count + messages(direction, .unreliable).count
  }
}
