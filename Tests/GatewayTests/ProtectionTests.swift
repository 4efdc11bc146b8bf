internal import Foundation
internal import Notation
internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite("HTTPS stands at the same port, and what is secret needs it", .timeLimit(.minutes(2)))
struct ProtectionTests {
  @Test("A client that trusts the served authority is answered by name and by address, as curl is")
  func believing() async throws {
    try await withGateway({ $0.hostNames = ["box.example"] }) { gateway in
      let served = try await gateway.stranger.get("/v1/gateway/authority")
      #expect(served.text.hasPrefix("-----BEGIN CERTIFICATE-----") && !served.text.contains("PRIVATE"))
      let file = "\(gateway.folder)/believed.crt"
      try Data(served.body).write(to: URL(fileURLWithPath: file))
      for host in ["localhost", "127.0.0.1", "[::1]", "box.example"] + MachineName.all {
        let said = try await curl(
          "--cacert", file, "--connect-to", "::127.0.0.1:\(gateway.port)", "https://\(host):\(gateway.port)/v1/gateway")
        let json = try JSON(parsing: said)
        #expect(json["name"] == "Box" && json["https"]?["authority"]?.text?.count == 95, "\(host): \(said)")
      }
      await #expect(throws: Line.Broken.self) {
        try await curl(
          "--cacert", file, "--connect-to", "::127.0.0.1:\(gateway.port)",
          "https://other.example:\(gateway.port)/healthz")
      }
      await #expect(throws: Line.Broken.self) { try await curl("https://localhost:\(gateway.port)/healthz") }
    }
  }

  @Test("HTTP, HTTPS, a WebSocket with TLS and a link of another host are at one port at once")
  func together() async throws {
    try await withGateway { gateway in
      let plain = try await gateway.client()
      let safe = try await gateway.safe(plain)
      let talk = try await Talk.connected(safe)
      let peer = try await safe.make("/v1/peers", ["displayName": "Anna"]).id
      #expect(try await plain.get("/v1/peers").ids.contains(peer))
      #expect(try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/peers"]])["ok"] != nil)
      let other = try await TestGateway.open("Foyer", nextTo: gateway)
      let guest = try await other.client()
      let (bert, type) = (try await guest.make("/v1/peers", ["displayName": "Bert"]).id, JSON.text("lab"))
      _ = try await plain.make(
        "/v1/advertisers", ["peer": .text(peer), "serviceType": type, "invitations": "ask"])
      let browser = try await guest.make("/v1/browsers", ["peer": .text(bert), "serviceType": type]).id
      _ = try await guest.wait(in: "/v1/browsers/\(browser)/found", "displayName", "Anna")
      #expect(try await talk.ask(["id": 2, "request": ["method": "GET", "path": "/v1/gateway"]])["ok"] != nil)
      await other.close()
    }
  }

  @Test(
    "Without encryption nobody becomes an operator, or is one, and tokens expire soon",
    .enabled(if: outsideAddress != nil, "this machine is on no network"))
  func openConnections() async throws {
    try await withGateway { gateway in
      let host = try #require(outsideAddress)
      var open = gateway.stranger
      open.host = host
      let spoilt = try await gateway.running.makePairingCode()
      let refused = try await open.post("/v1/pairings", ["code": .text(spoilt)])
      #expect(refused.status == 403 && refused.json["rule"] == "privateConnection")
      #expect(refused.json["detail"]?.text?.contains("use https://\(host):\(gateway.port)") == true)
      // A code that crossed the network in plain text is void, and the answer says so.
      #expect(refused.json["detail"]?.text?.contains("it is void now") == true)
      let safe = try await gateway.safe(open)
      #expect(try await safe.post("/v1/pairings", ["code": .text(spoilt)]).json["rule"] == "pairingCode")
      let code = try await gateway.running.makePairingCode()
      let operators = try await safe.post("/v1/pairings", ["code": .text(code), "cookie": true])
      #expect(operators.status == 201 && operators["Set-Cookie"]?.contains("__Host-") == true)
      #expect(operators["Set-Cookie"]?.hasSuffix("; Secure") == true && operators.json["expiresAt"] == nil)
      let boss = try await gateway.client("operator")
      open.token = boss.token
      #expect(try await open.get("/v1/peers").json["rule"] == "privateConnection")
      let talk = try await Talk.open(open)
      #expect(
        try await talk.ask(["id": 1, "connect": ["token": .text(boss.token ?? "")]])["problem"]?["rule"]
          == "privateConnection")
      var over = safe
      over.token = boss.token
      let made = try await over.make("/v1/pairing-codes", ["role": "member"])
      open.token = nil
      let member = try await open.post("/v1/pairings", ["code": made.json["code"] ?? .null, "cookie": true])
      #expect(member.status == 201 && member.json["expiresAt"]?.text != nil)
      let cookie = try #require(member["Set-Cookie"])
      #expect(!cookie.contains("Secure") && !cookie.contains("__Host-"))
      // A cookie that plain HTTP has exposed is not valid for a page over HTTPS.
      open.headers["Cookie"] = String(cookie.prefix { $0 != ";" })
      #expect(try await open.get("/v1/peers").status == 200)
      over.token = nil
      #expect(try await over.get("/v1/peers", ["Cookie": open.headers["Cookie"] ?? ""]).status == 401)
    }
  }

  @Test("A link for a guest or a member leads to plain HTTP, where HTTPS is explained; one for an operator never does")
  func links() async throws {
    for isHTTPSOnly in [false, true] {
      try await withGateway({ ($0.dashboardFolder, $0.isHTTPSOnly) = (Document.site, isHTTPSOnly) }) { gateway in
        for role in ["viewer", "member", "operator", "admin"] {
          let url = try #require(try await gateway.running.makePairingTicket(role: role).url)
          let isPlain = !isHTTPSOnly && ["viewer", "member"].contains(role)
          #expect(url.hasPrefix(isPlain ? "http://" : "https://"), "\(role): \(url)")
        }
      }
    }
  }

  @Test("The authority lasts; a certificate is made anew for other names, and nobody else can read either")
  func renewing() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("certificates-\(UUID().uuidString)").path
    try Folder.make(folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func source(_ names: String...) -> CertificateSource {
      CertificateSource(GatewayOptions(folder: folder), title: "Box", names: names)
    }
    let first = try source("localhost", "box.local").obtain(for: ["192.168.1.5:7777", "[fe80::1%1]:7777"])
    let again = try source("localhost", "box.local").obtain(for: ["192.168.1.5:7777"])
    #expect(again.fingerprint == first.fingerprint && again.authority == first.authority)
    let moved = try source("localhost", "box.local").obtain(for: ["10.1.2.3:7777", "[fd00::5]:7777"])
    #expect(moved.fingerprint != first.fingerprint && moved.authority == first.authority)
    let renamed = try source("localhost", "other.local").obtain(for: ["10.1.2.3:7777"])
    #expect(renamed.authority != first.authority)
    for name in ["authority.pem", "server.pem"] {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.posixPermissions] as? Int
      #expect(mode == 0o600, "\(name)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(folder)/authority.pem")
    #expect(throws: Problem.self) { try source("localhost").obtain(for: []) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/authority.pem")
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: "\(folder)/authority.pem"))
    let problem = #expect(throws: Problem.self) { try source("localhost").obtain(for: []) }
    #expect(problem?.detail.contains("restore it") == true)
  }

  @Test("A certificate of the operator's is shown instead, and what is none is refused at the start")
  func ownFiles() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)").path
    try Folder.make(folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let made = CertificateSource(GatewayOptions(folder: folder), title: "Their own", names: ["localhost"])
    let authority = try #require(try made.obtain(for: []).authority)
    let files = CertificateFiles(certificate: "\(folder)/server.pem", key: "\(folder)/server.pem")
    try await withGateway({ $0.certificate = files }) { gateway in
      var safe = gateway.stranger
      safe.authority = authority.certificate
      let about = try await safe.get("/v1/gateway").json
      #expect(about["https"]?["fingerprint"]?.text?.count == 95 && about["https"]?["authority"] == nil)
      #expect(try await safe.get("/v1/gateway/authority").status == 404)
    }
    for path in ["\(folder)/nothing", "/dev/null"] {
      await #expect(throws: Problem.self) {
        try await withGateway({ $0.certificate = CertificateFiles(certificate: path, key: path) }) { _ in }
      }
    }
  }
}

/// An address of this machine that is not loopback; its clients do not come from loopback either.
var outsideAddress: String? {
  NetworkInterface.addresses(port: 0).first { !$0.isV6 && !$0.isLoopback }.map { String($0.description.dropLast(2)) }
}

extension TestGateway {
  /// The same client under TLS.
  fileprivate func safe(_ asker: HTTPClient) async throws -> HTTPClient {
    var safe = asker
    safe.authority = try await stranger.get("/v1/gateway/authority").body
    return safe
  }
}

/// The standard output of curl.
@discardableResult
func curl(_ arguments: String...) async throws -> String { try await curl(arguments) }

func curl(_ arguments: [String]) async throws -> String {
  try await onThread {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    process.arguments = ["--silent", "--max-time", "\(Line.patience)"] + arguments
    process.standardOutput = output
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw Line.Broken(what: "curl ended with \(process.terminationStatus)") }
    return String(decoding: said, as: UTF8.self)
  }
}
