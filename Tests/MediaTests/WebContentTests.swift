import Media
import Testing

/// A server's description of a file is somebody else's word.
@Suite struct WebContentTests {
  private func content(_ fields: String, path: String = "/path/to") throws -> WebContent {
    let rig = try FetchRig()
    let server = try ScriptedServer(
      on: rig.reactor, saying: "HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 0\r\n\r\n")
    return try #require(try rig.outcome(server.url + path).content)
  }

  @Test(arguments: [
    ("attachment; filename=plain.txt", "plain.txt"), ("attachment; filename=\"a b; c.txt\"", "a b; c.txt"),
    ("attachment;filename=\"a\\\"b\\\\c.txt\"", "c.txt"), ("inline; FileName = x.txt", "x.txt"),
    ("attachment; filename=\"old.txt\"; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
    ("attachment; filename*=iso-8859-1''%a3; filename=f.txt", "f.txt"), ("attachment; filename*=UTF-8''%zz", "to"),
    ("attachment", "to"), ("attachment; filename=", "to"), ("attachment; filename=\"../../etc/passwd\"", "passwd"),
    ("attachment; filename=\"C:\\\\x\\\\y.exe\"", "y.exe"), ("attachment; filename=\"..\"", "to"),
    ("attachment; filename=\".bashrc\"", "bashrc"), ("attachment; filename=\"a<b>|c?*.txt. \"", "a_b__c__.txt"),
    ("attachment; filename*=UTF-8''exe.%E2%80%AEtxt.png", "exe.txt.png"),
    ("attachment; filename*=UTF-8''a%00b%0ac", "abc"),
    ("attachment; filename*=UTF-8''a%2F..%2Fb.txt", "b.txt"), ("; ; filename; =x; filename=y", "y"),
  ])
  func `a name is taken as it is meant, and made safe`(_ disposition: String, _ name: String) throws {
    #expect(try content("Content-Disposition: \(disposition)").name == name)
  }

  @Test(arguments: [
    ("/", "download"), ("/a/b.txt", "b.txt"), ("/a/b%20c.txt", "b c.txt"), ("/a/", "a"),
    ("/-rf", "rf"), ("/.-.-a-b", "a-b"),
    ("/..%2f..%2fpasswd", "passwd"),
    ("/%2e%2e", "download"), ("/a%00", "a"), ("/%ff", "download"), ("/%", "download"), ("/%C3%A4.txt", "ä.txt"),
  ])
  func `without one, the path's last part is it`(_ path: String, _ name: String) throws {
    #expect(try content("X: y", path: path).name == name)
  }

  @Test func `a name that is too long keeps its ending`() throws {
    let name = try content("Content-Disposition: x; filename=\"\(String(repeating: "ä", count: 300)).tar\"").name
    #expect(name.utf8.count <= 255 && name.utf8.count > 250 && name.hasSuffix("ä.tar"))
    let bare = try content("Content-Disposition: x; filename=\"\(String(repeating: "b", count: 300))\"").name
    #expect(bare == String(repeating: "b", count: 255))
  }

  @Test(
    arguments: [
      ("image/png", "image/png"), ("IMAGE/PNG;q=1", "image/png"), ("text/html ; charset=x", "text/html"),
      ("a", nil), ("a/b/c", nil), ("/b", nil), ("a/", nil), ("a b/c", nil), ("a/b\u{E4}", nil),
      ("a/" + String(repeating: "b", count: 126), nil),
    ] as [(String, String?)])
  func `a media type is one, or none`(_ value: String, _ type: String?) throws {
    #expect(try content("Content-Type: \(value)").type == type)
  }
}
