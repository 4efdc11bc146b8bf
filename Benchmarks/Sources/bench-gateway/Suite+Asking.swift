internal import Foundation
internal import Programs
internal import Report

/// Small, frequent requests, and large ones.
extension Suite {
  /// How the others lie on the machine, and what its memory is like, is another thing each time.
  private static let rounds = 7
  private static let resourceBytes = 400
  private static let fileBytes = 1 << 30

  /// The same number of bytes from each, on 64 connections that last.
  mutating func rest() throws {
    let gateway = try gateway("rest")
    let path = try resource(of: Self.resourceBytes, in: gateway)
    let (floor, nginx) = (try others.floor(Self.resourceBytes), try others.nginx())
    try place.fill("small.json", Self.resourceBytes)
    var (ours, bare, theirs): ([Load], [Load], [Load]) = ([], [], [])
    for _ in 0..<Self.rounds {
      ours.append(try load(gateway.process, gateway.port, path, gateway.token))
      bare.append(try load(floor.process, floor.port, "/", ""))
      theirs.append(try load(nginx.process, nginx.port, "/small.json", ""))
    }
    let goal = Figure.Goal.atLeast(0.8 * median(bare.map(\.rate)))
    table.add("rest", medianOf: ours.map(\.rate), "/s", goal: goal)
    table.add("rest-bare-libmicrohttpd", medianOf: bare.map(\.rate), "/s")
    table.add("rest-nginx", medianOf: theirs.map(\.rate), "/s")
    let cost = Figure.Goal.atMost(median(theirs.map(\.cost)) * 1e6)
    table.add("rest-processor-time", medianOf: ours.map(\.cost), times: 1e6, "µs each", goal: cost)
    table.add("rest-processor-time-bare-libmicrohttpd", medianOf: bare.map(\.cost), times: 1e6, "µs each")
    table.add("rest-processor-time-nginx", medianOf: theirs.map(\.cost), times: 1e6, "µs each")
  }

  private struct Load {
    let rate: Double
    let cost: Double
  }

  /// A message as JSON of so many bytes.
  private func resource(of bytes: Int, in gateway: GatewayUnderTest) throws -> String {
    let session = try gateway.session("Rest", "rest")
    _ = try gateway.session("Partner", "rest")
    _ = try gateway.waitForMember(of: session)
    let path = "\(session)/messages"
    func put(_ id: String, _ count: Int) throws -> Int {
      let text = String(repeating: "x", count: count)
      let line = try words(
        [
          "curl", "-s", "-o", "/dev/null", "-w", "%{size_download}\\n", "-X", "PUT", "-H", "Content-Type: text/plain",
          "-H", "Authorization: Bearer \(gateway.token)", "--data-binary", text,
          "http://127.0.0.1:\(gateway.port)\(path)/\(id)",
        ])
      return Int(try number(line, 0))
    }
    // Its size stands in it, in as many digits as it takes.
    var room = bytes / 4
    for attempt in 0..<4 {
      let size = try put("\(attempt)", room)
      if size == bytes { return "\(path)/\(attempt)" }
      room += bytes - size
    }
    throw Failure("no message is \(bytes) bytes as JSON")
  }

  private func load(_ server: Child, _ port: Int, _ path: String, _ token: String) throws -> Load {
    let before = server.processorTime
    let script = """
      wrk -t1 -c64 -d2 -H 'Authorization: Bearer \(token)' http://127.0.0.1:\(port)\(path) |
        awk '/requests in/ { all = $1 } /Requests.sec/ { rate = $2 } /Non-2xx|Socket errors/ { bad = $0 }
             END { if (bad) print "failed:", bad; else print all, rate }'
      """
    let said = try words(["sh", "-c", script])
    return Load(rate: try number(said, 1), cost: (server.processorTime - before) / (try number(said, 0)))
  }

  /// A gibibyte into the gateway and out of it again, and into nginx and out of it: plain, and under TLS.
  mutating func files() throws {
    let nginx = try others.nginx()
    try place.fill("source", Self.fileBytes)
    let (from, sending, to, receiving, member) = try pair(in: place)
    let (up, down) = (from.process.memory, to.process.memory)
    // One goes the whole way, and is what is downloaded.
    let offered = try offer(from, sending, member)
    _ = try transfer("PUT", from, .plain, "\(sending)/resources/\(offered)/content", "-T \(place.folder)/source")
    let received = try take(to, receiving)
    var figures: [String: [Double]] = [:]
    func note(_ name: String, _ seconds: Double) {
      figures[name, default: []].append(Double(Self.fileBytes) / seconds / 1e6)
    }
    for _ in 0..<Self.rounds {
      for wire in Wire.allCases {
        let theirs = "\(wire.scheme)://127.0.0.1:\(wire == .tls ? nginx.secure : nginx.port)"
        note("down\(wire)", try transfer("GET", to, wire, "\(receiving)/resources/\(received)/content", "-o /dev/null"))
        note("down\(wire)-nginx", try transfer("GET", "\(theirs)/source", "-o /dev/null"))
        let part = try offer(from, sending, member)
        try place.warm(Self.fileBytes)
        // Not the whole of it as far as the gateway knows: else it would go on its way while others are measured.
        let path = "\(sending)/resources/\(part)"
        let headers = "-H 'Upload-Offset: 0' -H 'Upload-Complete: ?0'"
        note("up\(wire)", try transfer("PATCH", from, wire, "\(path)/content", "\(headers) -T \(place.folder)/source"))
        try from.ask("DELETE", path)
        try place.warm(Self.fileBytes)
        note("up\(wire)-nginx", try transfer("PUT", "\(theirs)/target", "-T \(place.folder)/source"))
        _ = try transfer("DELETE", "\(theirs)/target", "")
      }
    }
    for wire in Wire.allCases {
      for way in ["down\(wire)", "up\(wire)"] {
        let theirs = figures["\(way)-nginx"] ?? []
        table.add("file-\(way)", medianOf: figures[way] ?? [], "MB/s", goal: .atLeast(0.8 * median(theirs)))
        table.add("file-\(way)-nginx", medianOf: theirs, "MB/s")
      }
    }
    table.add("file-memory-of-uploads", from.process.memoryPeak - up, "MiB more")
    table.add("file-memory-of-downloads", to.process.memoryPeak - down, "MiB more")
  }

  private enum Wire: CaseIterable, CustomStringConvertible {
    case plain, tls

    var scheme: String { self == .tls ? "https" : "http" }
    var description: String { self == .tls ? "-tls" : "" }
  }

  private func offer(_ gateway: GatewayUnderTest, _ session: String, _ member: String) throws -> String {
    try gateway.text("id", "POST", "\(session)/resources", ["name": "source", "to": member])
  }

  /// Accepts the offer, and returns once the file is here.
  private func take(_ gateway: GatewayUnderTest, _ session: String) throws -> String {
    func first(_ state: String) throws -> String? {
      let items = try gateway.ask("GET", "\(session)/resources?state=\(state)")["items"] as? [[String: Any]]
      return items?.first?["id"] as? String
    }
    let id = try gateway.wait("nothing is offered") { try first("offered") }
    try gateway.ask("PATCH", "\(session)/resources/\(id)", ["state": "accepted"])
    return try gateway.wait("the file does not arrive") { try first("complete") }
  }

  private func transfer(
    _ method: String, _ gateway: GatewayUnderTest, _ wire: Wire, _ path: String, _ what: String
  ) throws -> Double {
    let url = "\(wire.scheme)://127.0.0.1:\(gateway.port)\(path)"
    return try transfer(method, url, "-H 'Authorization: Bearer \(gateway.token)' \(what)")
  }

  /// In seconds, as curl counts them. Whose the certificates are is not looked at.
  private func transfer(_ method: String, _ url: String, _ what: String) throws -> Double {
    let curl = "curl -sk -H Expect: -X \(method) \(what) -w '\n%{http_code} %{time_total}\n' \(url)"
    let said = try words(["sh", "-c", "\(curl) | tail -n 1"])
    guard try number(said, 0) < 300 else { throw Failure("\(method) \(url) is answered with \(said[0])") }
    return try number(said, 1)
  }
}
