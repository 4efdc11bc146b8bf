internal import Nearby
internal import Notation
internal import Store
internal import Web

/// All metrics of `/metrics`; docs/operations.md explains each, and a test compares the two.
extension Metric {
  static let all = requests + followers + nearby + exchanged + kept + process

  private static let requests: [Metric] = [
    Metric(.counter, "vicinity_http_requests_total", "Answered requests by route, method and status.") { core in
      core.answered { labels, answers in
        answers.statuses.map { answer in
          var sample = Sample(answer.count)
          sample.labels = labels + [("status", String(answer.status))]
          return sample
        }
      }
    },
    Metric(
      .histogram, "vicinity_http_request_duration_seconds",
      "Time from the head of a request to the beginning of its response, by route."
    ) { core in core.answered { labels, answers in answers.times.samples(labels) } },
    Metric(
      .counter, "vicinity_http_refusals_total", "Rejected malformed requests and failed WebSocket upgrades, by status."
    ) {
      core in
      core.web { $0.refusals.sorted { $0.key < $1.key }.map { Sample($0.value, ("status", String($0.key))) } }
    },
    .one(.counter, "vicinity_http_idle_turns_total", "Turns of the loop that HTTP requested and did nothing in.") {
      $0.front.map { Double($0.meter.idleTurns) }
    },
    .one(.gauge, "vicinity_http_requests_in_flight", "Requests whose response is not sent completely.") {
      $0.front.map { Double($0.requestsUnderWay) }
    },
    .one(.counter, "vicinity_http_request_body_bytes_total", "Bytes of request bodies.") {
      $0.front.map { Double($0.meter.bodyBytesIn) }
    },
    .one(.counter, "vicinity_http_response_body_bytes_total", "Bytes of response bodies.") {
      $0.front.map { Double($0.meter.bodyBytesOut) }
    },
    Metric(.counter, "vicinity_connections_total", "Accepted connections by detected protocol.") { core in
      core.web { meter in
        WebMeter.Kind.allCases.map { Sample(meter.connections[$0.rawValue], ("kind", "\($0)")) }
      }
    },
    Metric(
      .counter, "vicinity_connections_refused_total", "Connections that were rejected, by the limit that was reached."
    ) {
      core in
      core.web { meter in
        ConnectionLimit.allCases.map { Sample(meter.refusedConnections[$0] ?? 0, ("limit", $0.rawValue)) }
      }
    },
    .one(.gauge, "vicinity_connections", "Open connections of clients.") {
      $0.front.map { Double($0.connectionCount) }
    },
  ]

  private static let followers: [Metric] = [
    Metric(.gauge, "vicinity_websockets", "Open WebSockets, by kind.") { core in
      [Sample(core.sockets.count, ("kind", "channels")), Sample(core.sockets.streams.count, ("kind", "stream"))]
    },
    Metric(.counter, "vicinity_websocket_closes_total", "Closed WebSockets, by close code.") { core in
      core.meters.closes.sorted { $0.key < $1.key }.map { Sample($0.value, ("code", String($0.key))) }
    },
    .one(.gauge, "vicinity_event_streams", "Open streams of Server-Sent Events.") {
      Double($0.channels.count(of: EventStream.self))
    },
    .one(.gauge, "vicinity_long_polls", "Open long polls.") { Double($0.channels.count(of: LongPoll.self)) },
    .one(
      .gauge, "vicinity_websocket_queue_bytes", "Send queues of WebSockets in bytes, without the frames of channels."
    ) {
      $0.front.map { Double($0.queuedBytes) }
    },
    .one(.gauge, "vicinity_websocket_queue_frames", "Frames by which WebSockets lag behind their channels.") { core in
      Double(core.sockets.all.reduce(0) { $0 + $1.waitingCount })
    },
    .one(.gauge, "vicinity_large_answers_bytes", "Memory that is reserved for large responses.") {
      Double($0.responseBudget.bytes)
    },
    .one(.gauge, "vicinity_large_answers_waiting", "Large responses that wait for their turn.") {
      Double($0.responseBudget.waitingCount)
    },
    .one(
      .counter, "vicinity_large_answers_refused_total", "Large responses that were refused after waiting too long."
    ) {
      Double($0.responseBudget.refusals)
    },
    .one(.gauge, "vicinity_requests_waiting", "Requests that wait for their client's turn.") {
      Double($0.fairQueue.waitingCount)
    },
    .one(.counter, "vicinity_requests_delayed_total", "Requests that have waited for their client's turn.") {
      Double($0.fairQueue.delayedCount)
    },
    .one(.counter, "vicinity_websocket_messages_received_total", "Messages received on WebSockets.") {
      $0.front.map { Double($0.meter.socketMessagesIn) }
    },
    .one(.counter, "vicinity_websocket_received_bytes_total", "Bytes received on WebSockets.") {
      $0.front.map { Double($0.meter.socketBytesIn) }
    },
    .one(.counter, "vicinity_websocket_frames_sent_total", "Frames sent on WebSockets.") {
      $0.front.map { Double($0.meter.framesOut) }
    },
    .one(.counter, "vicinity_websocket_sent_bytes_total", "Bytes sent on WebSockets.") {
      $0.front.map { Double($0.meter.frameBytesOut) }
    },
    .one(.counter, "vicinity_websocket_frames_dropped_total", "Frames that were dropped for slow WebSockets.") {
      $0.front.map { Double($0.meter.framesDropped) }
    },
    .one(
      .counter, "vicinity_websocket_lags_total",
      "Times that a WebSocket lagged too far behind a channel (slow consumer)."
    ) {
      $0.front.map { Double($0.meter.lags) }
    },
  ]

  /// The median of what links of a medium have, and the worst.
  private static func statistics(
    of values: [Double], _ medium: String, and name: String, _ worst: ([Double]) -> Double?
  ) -> [Sample] {
    guard let worst = worst(values) else { return [] }
    return [("median", values.sorted()[values.count / 2]), (name, worst)].map {
      Sample($0.1, ("medium", medium), ("statistic", $0.0))
    }
  }

  private static let nearby: [Metric] = [
    .one(.gauge, "vicinity_discovery_up", "Whether discovery works: 1, or 0.") {
      $0.discoveryError == nil ? 1 : 0
    },
    .one(.gauge, "vicinity_links", "Links with other hosts.") { $0.host.network.map { Double($0.linkCount) } },
    Metric(.gauge, "vicinity_medium_links", "Links with other hosts by medium, in use or on standby.") { core in
      core.byMedium { medium, links in
        [true, false].map { isStandby in
          Sample(
            links.count { $0.isStandby == isStandby }, ("medium", medium), ("use", isStandby ? "standby" : "active"))
        }
      }
    },
    Metric(.gauge, "vicinity_medium_round_trip_seconds", "Round trips of links by medium: median and maximum.") {
      core in
      core.byMedium { medium, links in
        statistics(of: links.compactMap { $0.roundTrip.map { $0 / .seconds(1) } }, medium, and: "maximum") { $0.max() }
      }
    },
    Metric(
      .gauge, "vicinity_medium_rate_bytes_per_second",
      "Rates at which links by medium delivered their last bytes: median and minimum."
    ) { core in
      core.byMedium { medium, links in
        statistics(of: links.compactMap { $0.bytesPerSecond.map(Double.init) }, medium, and: "minimum") { $0.min() }
      }
    },
    Metric(.gauge, "vicinity_medium_loss_ratio", "Part of the bytes on open links that was lost, by medium.") { core in
      core.byMedium { medium, links in
        let known = links.compactMap { link in link.loss.map { (sent: Double(link.bytesSent), loss: $0) } }
        let sent = known.reduce(0) { $0 + $1.sent }
        return sent == 0 ? [] : [Sample(known.reduce(0) { $0 + $1.sent * $1.loss } / sent, ("medium", medium))]
      }
    },
    .one(.gauge, "vicinity_relayed_links", "Links between other hosts that go through this one.") {
      Double($0.host.relayedHere.links)
    },
    .one(.counter, "vicinity_relayed_bytes_total", "Bytes that were passed on between other hosts.") {
      Double($0.host.relayedHere.bytes)
    },
    .one(.gauge, "vicinity_peers", "Peers that the gateway carries.") { Double($0.peers.count) },
    .one(.gauge, "vicinity_advertisers", "Advertisers.") { Double($0.advertisers.count) },
    .one(.gauge, "vicinity_browsers", "Browsers.") { Double($0.browsers.count) },
    .one(.gauge, "vicinity_sessions", "Sessions of its peers, counted for each end.") { Double($0.sessions.count) },
    .one(.gauge, "vicinity_pairs", "Connected members, counted for each end of a session.") { core in
      Double(core.sessions.values.reduce(0) { $0 + $1.counts.connected })
    },
    .one(.gauge, "vicinity_clients", "Clients that hold a token.") { Double($0.clients.clients.count) },
    .one(.counter, "vicinity_pairings_total", "Pairing codes that were exchanged for a token.") {
      Double($0.meters.pairings)
    },
  ]

  private static let exchanged: [Metric] = [
    Metric(.counter, "vicinity_messages_total", "Messages of sessions, by direction and mode.") { core in
      core.messages { $0.count }
    },
    Metric(.counter, "vicinity_message_bytes_total", "Bytes of session messages, by direction and mode.") { core in
      core.messages { $0.bytes }
    },
    .one(
      .counter, "vicinity_messages_dropped_total",
      "Unreliable messages that were dropped for slow subscribers."
    ) { Double($0.meters.droppedCount) },
    Metric(.gauge, "vicinity_transfers", "Open streams and resources in transfer, by kind and direction.") {
      core in
      Meters.Flow.allCases.flatMap { flow in
        Meters.Direction.allCases.map { direction in
          Sample(core.running(flow, direction), ("kind", flow.rawValue), ("direction", direction.rawValue))
        }
      }
    },
    Metric(.counter, "vicinity_transfers_ended_total", "Streams and resources that have ended, by outcome.") { core in
      core.meters.endings.map { ending, count in
        Sample(
          count, ("kind", ending.flow.rawValue), ("direction", ending.direction.rawValue), ("outcome", ending.outcome))
      }.sorted { $0.labels.map(\.value).joined(separator: " ") < $1.labels.map(\.value).joined(separator: " ") }
    },
    .one(.gauge, "vicinity_uploads", "Uploads in progress: request bodies that are written as they arrive.") {
      Double($0.uploads.count)
    },
  ]

  private static let kept: [Metric] = [
    .one(.counter, "vicinity_store_commits_total", "Commits (group commit: each has many writes).") {
      Double($0.store.meter.commits)
    },
    .one(.counter, "vicinity_store_commit_seconds_total", "Time spent in commits.") {
      Double($0.store.meter.nanoseconds) / 1e9
    },
    .one(.counter, "vicinity_store_commit_failures_total", "Failed commits.") {
      Double($0.store.meter.failures)
    },
    .one(.counter, "vicinity_store_damaged_messages_total", "Stored messages that were corrupt when they were read.") {
      Double($0.sessionStore.damagedCount)
    },
    .one(.counter, "vicinity_store_damaged_files_total", "Stored files of resources that are corrupt.") {
      Double($0.damagedFileCount)
    },
    .one(.counter, "vicinity_scrub_read_bytes_total", "Bytes of files and rows that the scrub has read.") {
      $0.gateway.map { Double($0.scrubMeter.bytes) }
    },
    .one(.counter, "vicinity_scrub_passes_total", "Passes of the scrub over all stored files and rows.") {
      Double($0.scrub.passCount)
    },
    .one(.gauge, "vicinity_scrub_last_pass_timestamp_seconds", "The end of the last pass of the scrub.") {
      $0.scrub.lastPass.map { Double($0.milliseconds) / 1_000 }
    },
    Metric(.counter, "vicinity_scrub_damage_total", "Damage that the scrub has found, by kind.") { core in
      ScrubFindings.Kind.allCases.map { Sample(core.scrub.counts[$0, default: 0], ("kind", $0.rawValue)) }
    },
    .one(.gauge, "vicinity_store_queue", "Writes that wait for the disk.") { Double($0.store.waitingCount) },
    .one(.gauge, "vicinity_disk_free_bytes", "Free space on the disk of the gateway's folder, for its user.") {
      ProcessStatistics.disk(of: $0.options.folder)?.free
    },
    .one(.gauge, "vicinity_disk_size_bytes", "Size of the disk of the gateway's folder.") {
      ProcessStatistics.disk(of: $0.options.folder)?.size
    },
    .one(.gauge, "vicinity_certificate_expiry_timestamp_seconds", "Expiry of the HTTPS certificate.") {
      $0.certificate?.identity.summary.validUntil.map(Double.init)
    },
  ]

  private static let process: [Metric] = [
    Metric(.gauge, "vicinity_build_info", "1, with the version.") { _ in [Sample(1, ("version", Gateway.version))] },
    Metric(.counter, "vicinity_log_records_total", "Log records by level, written or dropped.") {
      core in
      LogRecord.Level.allCases.map { Sample(core.log.records[$0] ?? 0, ("level", $0.rawValue)) }
    },
    .one(.gauge, "vicinity_ready", "Readiness, as /readyz: 1, or 0.") { $0.unreadiness == nil ? 1 : 0 },
    .one(.gauge, "process_start_time_seconds", "Start time of the process.") { _ in ProcessStatistics.startTime },
    .one(.counter, "process_cpu_seconds_total", "Processor time of the process.") { _ in ProcessStatistics.processorTime
    },
    .one(.gauge, "process_resident_memory_bytes", "Resident memory of the process.") { _ in
      ProcessStatistics.memory?.resident
    },
    .one(.gauge, "process_virtual_memory_bytes", "Virtual memory of the process.") { _ in
      ProcessStatistics.memory?.virtual
    },
    .one(.gauge, "process_open_fds", "Open file descriptors.") { _ in ProcessStatistics.descriptors },
    .one(.gauge, "process_max_fds", "Limit on open file descriptors.") { _ in ProcessStatistics.descriptorsMax },
  ]
}

extension Core {
  /// Samples of each route that had requests.
  fileprivate func answered(
    _ samples: ([(name: String, value: String)], Meters.Answers) -> [Metric.Sample]
  ) -> [Metric.Sample] {
    meters.answers.enumerated().flatMap { number, answers -> [Metric.Sample] in
      if answers.times.total == 0 { return [] }
      let isSite = number == meters.answers.count - 1
      let method = isSite || number == 0 ? "any" : router.routes[number - 1].method.name
      return samples([("route", routeName(isSite ? Meters.siteTag : number)), ("method", method)], answers)
    }
  }

  fileprivate func web(_ samples: (WebMeter) -> [Metric.Sample]) -> [Metric.Sample] {
    front.map { samples($0.meter) } ?? []
  }

  fileprivate func messages(_ value: (Meters.Messages) -> Int) -> [Metric.Sample] {
    Meters.Direction.allCases.flatMap { direction in
      [Mode.reliable, .unreliable].map { mode in
        Metric.Sample(value(meters.messages(direction, mode)), ("direction", direction.rawValue), ("mode", mode.word))
      }
    }
  }

  fileprivate func byMedium(_ samples: (String, [HostLink]) -> [Metric.Sample]) -> [Metric.Sample] {
    Dictionary(grouping: host.linksHere, by: \.medium).sorted { $0.key < $1.key }.flatMap { samples($0.key, $0.value) }
  }

  fileprivate func running(_ flow: Meters.Flow, _ direction: Meters.Direction) -> Int {
    let isIncoming = direction == .incoming
    return sessions.values.reduce(0) { sum, session in
      switch flow {
      case .resource:
        sum + session.resourceModels.values.count { $0.isIncoming == isIncoming && $0.state == .transferring }
      case .stream: sum + session.streamModels.values.count { $0.isIncoming == isIncoming && $0.state == .open }
      }
    }
  }
}
