import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Nearby

/// The metrics of a gateway, as Prometheus scrapes them.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct PrometheusTests {
  @Test("Prometheus, told what docs/operations.md says, reads each number, and answers with what the gateway says")
  func scraped() throws {
    let folder = TemporaryFolder()
    let gateway = try Program(
      [
        "serve", "--json", "--show-code", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0",
        "--discovery", "static",
      ], .noInput, in: folder.path)
    let address = try #require(JSON(parsing: gateway.line("\"serving\""))["addresses"]?.list?.first?.text)
    let port = String(address.split(separator: ":").last ?? "")
    let code = try #require(JSON(parsing: gateway.line("\"code\""))["code"]?.text)
    let pairing = Tool.run(
      "curl", ["--silent", "--json", "{\"code\": \"\(code)\"}", "http://127.0.0.1:\(port)/v1/pairings"])
    #expect(pairing?.text.contains("\"token\"") == true)

    // A gateway's own name for the port, and a pace for those who wait.
    let said = try Self.configuration().replacing("localhost:7777", with: "localhost:\(port)")
    let file = try folder.write(Array("global: {scrape_interval: 200ms}\n\(said)".utf8), to: "prometheus.yml")
    let prometheus = try Program(
      [
        "--config.file", file, "--storage.tsdb.path", "\(folder.path)/numbers", "--web.listen-address", "127.0.0.1:0",
        "--log.format", "json",
      ], .noInput, in: folder.path, running: "/usr/bin/prometheus")
    let listening = try JSON(parsing: prometheus.line("\"Listening on\"", on: 1))
    _ = try prometheus.line("Server is ready", on: 1)
    let reader = Reader(address: try #require(listening["address"]?.text))
    try reader.waitUntilUp()

    let (told, kept) = (Self.numbers(try reader.gatewayText(port)), try reader.series("{job=\"vicinity\"}"))
    // Prometheus adds some of its own, for each target.
    let own = kept.keys.filter { !$0.hasPrefix("up{") && $0 != "up" && !$0.hasPrefix("scrape_") }
    // The series that are new since the last scrape come from other reads of the metrics.
    let missing = Set(told.keys).subtracting(own).filter { !$0.contains("route=\"/metrics\"") }
    #expect(missing.isEmpty && Set(own).isSubset(of: told.keys), "\(missing), \(Set(own).subtracting(told.keys))")
    for series in [
      "vicinity_ready", "vicinity_clients", "vicinity_pairings_total", "vicinity_peers", "vicinity_disk_size_bytes",
      "vicinity_http_requests_total{method=\"POST\",route=\"/v1/pairings\",status=\"201\"}",
      "vicinity_http_request_duration_seconds_count{method=\"POST\",route=\"/v1/pairings\"}",
      "process_max_fds",
    ] {
      #expect(kept[series] != nil && kept[series] == told[series], "\(series)")
    }
    let slowest = try reader.series(
      "histogram_quantile(1, vicinity_http_request_duration_seconds_bucket{route=\"/v1/pairings\"})")
    #expect(slowest.count == 1 && slowest.values.allSatisfy { $0 > 0 }, "\(slowest)")

    prometheus.signal(SIGTERM)
    #expect(try prometheus.ended() == 0)
    gateway.signal(SIGTERM)
    #expect(try gateway.ended() == 0)
  }

  /// The configuration for Prometheus on the page.
  private static func configuration() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = String(decoding: try Data(contentsOf: root.appending(path: "docs/operations.md")), as: UTF8.self)
    let block = page.split(separator: "```\n", omittingEmptySubsequences: false).first {
      $0.hasPrefix("scrape_configs:")
    }
    return String(try #require(block))
  }

  /// The values by name and labels, in canonical order.
  private static func numbers(_ text: String) -> [String: Double] {
    var numbers: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " ") else { continue }
      let parts = line[..<space].split(separator: "{", maxSplits: 1)
      var labels: [String: String] = [:]
      for match in (parts.count > 1 ? parts[1] : "").matches(of: #/(\w+)="([^"]*)"/#) {
        labels[String(match.1)] = String(match.2)
      }
      numbers[series(String(parts[0]), labels)] = Double(line[line.index(after: space)...])
    }
    return numbers
  }

  private static func series(_ name: String, _ labels: [String: String]) -> String {
    let texts = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }
    return texts.isEmpty ? name : "\(name){\(texts.joined(separator: ","))}"
  }

  /// A client of Prometheus.
  private struct Reader {
    let address: String

    func waitUntilUp() throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while true {
        let targets = try ask("targets")["data"]?["activeTargets"]?.list ?? []
        if targets.count == 1, targets[0]["health"] == "up" { return }
        guard ContinuousClock.now < deadline else { throw Program.Silence(description: "it is not up: \(targets)") }
      }
    }

    func gatewayText(_ port: String) throws -> String {
      try #require(Tool.run("curl", ["--silent", "--max-time", "10", "http://127.0.0.1:\(port)/metrics"])).text
    }

    func series(_ query: String) throws -> [String: Double] {
      var found: [String: Double] = [:]
      for item in try ask("query", ["--get", "--data-urlencode", "query=\(query)"])["data"]?["result"]?.list ?? [] {
        var labels: [String: String] = [:]
        for member in item["metric"]?.members ?? [] { labels[member.name] = member.value.text }
        for ours in ["job", "instance"] { labels[ours] = nil }
        let name = labels.removeValue(forKey: "__name__") ?? ""
        found[PrometheusTests.series(name, labels)] = item["value"]?.list?.last?.text.flatMap { Double($0) }
      }
      return found
    }

    private func ask(_ what: String, _ options: [String] = []) throws -> JSON {
      let words = ["--silent", "--max-time", "10"] + options + ["http://\(address)/api/v1/\(what)"]
      return try JSON(parsing: try #require(Tool.run("curl", words)).text)
    }
  }
}
