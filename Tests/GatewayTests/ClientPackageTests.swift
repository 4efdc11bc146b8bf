internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("The package of the JavaScript client")
struct ClientPackageTests {
  private let path = "/client/\(Gateway.version)"

  @Test("Its files are below the version and below none, and not below another version")
  func versions() async throws {
    try await withGateway({ $0.dashboardFolder = Document.site }) { gateway in
      for file in ["vicinity.js", "session.js", "vicinity.d.ts", "package.json", "examples/chat.js"] {
        let versioned = try await gateway.stranger.get("\(self.path)/\(file)")
        #expect(versioned.status == 200 && versioned["Cache-Control"] == "no-cache" && versioned["ETag"] != nil)
        #expect(try await gateway.stranger.get("/client/\(file)").body == versioned.body)
        #expect(try await gateway.stranger.get("/client/0.0.1/\(file)").status == 404)
      }
      #expect(try await gateway.stranger.get("/client/package.json").json["version"]?.text == Gateway.version)
    }
  }

  @Test("The archive unpacks to the files as they are served")
  func archive() async throws {
    try await withGateway({ $0.dashboardFolder = Document.site }) { gateway in
      let archive = try await gateway.stranger.get("\(self.path)/vicinity-client.tgz")
      #expect(archive["Content-Type"] == "application/gzip")
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appendingPathComponent("client.tgz")
      try Data(archive.body).write(to: file)
      let tar = Process()
      tar.executableURL = URL(filePath: "/bin/tar")
      tar.arguments = ["-xzf", file.path, "-C", folder.path]
      try tar.run()
      tar.waitUntilExit()
      #expect(tar.terminationStatus == 0)
      let package = try #require(ClientPackage(site: Folder.files(Document.site)))
      #expect(package.modules.first?.path == "vicinity.js" && package.examples.count > 3 && package.types.count == 2)
      for file in package.files {
        let unpacked = try Data(contentsOf: folder.appendingPathComponent("package/\(file.path)"))
        #expect(Array(unpacked) == file.bytes, "\(file.path)")
      }
    }
  }

  @Test("The page shows the hash of each module, the examples and the types; below a base path, its own paths")
  func page() async throws {
    try await withGateway({ ($0.basePath, $0.dashboardFolder) = ("/a", Document.site) }) { gateway in
      let page = try await gateway.stranger.get("/a/docs/js")
      let policy = try #require(page["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none'; style-src 'self'") && !policy.contains("unsafe"))
      #expect(page.text.contains("&lt;script type=&quot;importmap&quot;&gt;"))
      // The page runs the examples with scripts of the gateway, and one text of its own, by its hash.
      let map = "{\"imports\": {\"vicinity-client\": \"/a/examples/run.js\"}}"
      #expect(page.text.contains("<script type=\"importmap\">\(map)</script>"))
      #expect(policy.contains("script-src 'self' '\(ClientPackage.File(path: "", bytes: Array(map.utf8)).integrity)'"))
      let package = try #require(ClientPackage(site: Folder.files(Document.site)))
      for file in package.modules {
        let entry: Markup = "\("\"/a\(self.path)/\(file.path)\": \"\(file.integrity)\"")"
        #expect(page.text.contains(entry.text))
      }
      for file in package.examples + package.types {
        let source: Markup = "<pre>\(file.text)</pre>"
        #expect(page.text.contains(source.text), "\(file.path)")
      }
      #expect(try await gateway.stranger.get("/a/docs").text.contains("href=\"/a/docs/js\""))
    }
    try await withGateway { gateway in
      let missing = try await gateway.stranger.get("/docs/js")
      #expect(missing.problem == "notFound")
    }
  }

  @Test("A hash is that of SHA-256, as browsers compare it")
  func hash() {
    let file = ClientPackage.File(path: "a.js", bytes: Array("abc".utf8))
    #expect(file.integrity == "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
  }
}
