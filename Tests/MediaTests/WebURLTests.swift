import Media
import Reactor
import Testing

@Suite struct WebURLTests {
  @Test(arguments: [
    ("http://Example.COM", "http://example.com/"), ("HTTPS://example.com:443", "https://example.com/"),
    ("http://example.com:/x", "http://example.com/x"), ("http://a:8080/b?c=d/?e#f", "http://a:8080/b?c=d/?e"),
    ("http://[2001:DB8::1]:81/", "http://[2001:db8::1]:81/"), ("http://1.2.3.4?q", "http://1.2.3.4/?q"),
    ("http://a/ä/%20b", "http://a/%C3%A4/%20b"), ("http://a_b-c.d./", "http://a_b-c.d./"), ("http://a/?", "http://a/?"),
    ("http://a/b\"c<d>|^`{}", "http://a/b\"c<d>|^`{}"),
  ])
  func `a URL of the web is taken apart, and is the same again`(_ text: String, _ same: String) throws {
    let url = try WebURL(text)
    #expect(url.description == same)
    #expect(try WebURL(url.description) == url)
  }

  @Test(arguments: [
    "", "http", "http:", "http:/a", "//a/b", "/a/b", "a.example/b", "http:///b", "http://:80/", "http://a:0/",
    "http://a:65536/", "http://a:-1/", "http://a:8 0/", "http://a b/", "http://a/b c", "http://a/\r\nX: y",
    "http://a\r\nX: y/", "http://a/\u{0}", "http://a/?b\nc", "http://u@a/", "http://u:p@a/", "http://a@b@c/",
    "http://ä/",
    "http://[::1/", "http://[a]/", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://a%2Fb/", "http://a\\b/",
    "http://a/" + String(repeating: "b", count: 4_096), "http://" + String(repeating: "a", count: 254),
  ])
  func `what is none, or could say something else in a request, is refused`(_ text: String) {
    let error = #expect(throws: WebError.self) { try WebURL(text) }
    guard case .invalidURL = error else {
      Issue.record("\(error as Any)")
      return
    }
  }

  @Test(arguments: [
    "file:///etc/passwd", "FTP://a/", "data:text/plain,x", "javascript:alert(1)", "ws://a/", "httpx://a/",
  ])
  func `P-RES-1 Any other scheme is unsupported`(_ text: String) {
    #expect(throws: WebError.unsupported(scheme: text.prefix { $0 != ":" }.lowercased())) { try WebURL(text) }
  }

  @Test func `P-RES-1 The URL of a file is its path, of this machine alone`() throws {
    for (url, path) in [
      ("file:///x", "/x"), ("FILE://localhost/a/b", "/a/b"), ("file:/tmp/a%20b%25", "/tmp/a b%"),
      ("file:///t%C3%A4/%F0%9F%8D%B2", "/tä/🍲"), ("file:///", "/"), ("http://a/", nil), ("/x", nil), ("", nil),
    ] {
      #expect(try FileURL.path(of: url) == path, "\(url)")
    }
    for url in [
      "file:", "file:x", "file://", "file://example.org/x", "file:///a?b", "file:///a#b", "file:///%", "file:///%zz",
      "file:///%ff", "file:///a%00b",
    ] {
      let error = #expect(throws: WebError.self, "\(url)") { try FileURL.path(of: url) }
      guard case .invalidURL = error else { Issue.record("\(url): \(error as Any)"); continue }
    }
  }

  @Test(
    arguments: [
      ("0.0.0.0", .unspecified), ("0.1.2.3", .reserved), ("127.0.0.1", .loopback), ("127.255.0.9", .loopback),
      ("10.0.0.1", .private), ("172.15.0.1", .global), ("172.16.0.1", .private), ("172.31.255.255", .private),
      ("172.32.0.1", .global), ("192.168.3.4", .private), ("192.169.0.1", .global), ("100.64.0.1", .private),
      ("100.128.0.1", .global), ("169.254.169.254", .linkLocal), ("224.0.0.251", .multicast),
      ("239.255.255.255", .multicast), ("240.0.0.1", .reserved), ("255.255.255.255", .reserved),
      ("192.0.2.1", .reserved), ("198.18.0.1", .reserved), ("8.8.8.8", .global), ("126.255.255.255", .global),
      ("::", .unspecified), ("::1", .loopback), ("::2", .reserved), ("::127.0.0.1", .loopback),
      ("::ffff:127.0.0.1", .loopback), ("::ffff:10.0.0.1", .private), ("::ffff:0.0.0.0", .unspecified),
      ("::ffff:224.0.0.1", .multicast), ("::ffff:169.254.0.1", .linkLocal), ("::ffff:8.8.8.8", .global),
      ("64:ff9b::127.0.0.1", .loopback), ("64:ff9b::8.8.8.8", .global), ("64:ff9b:1::1", .reserved),
      ("2002:7f00:1::", .loopback), ("2002:a9fe:1::1", .linkLocal), ("2002:808:808::1", .global),
      ("2001::1", .reserved),
      ("2001:db8::1", .reserved), ("2001:4860:4860::8888", .global), ("2a00:1450::1", .global), ("fe80::1", .linkLocal),
      ("febf::1", .linkLocal), ("fec0::1", .private), ("fc00::1", .private), ("fd12:3456::1", .private),
      ("ff02::fb", .multicast), ("100::1", .reserved), ("4000::1", .reserved),
    ] as [(String, AddressPolicy.Kind)])
  func `each address is known for what it is, in whatever form`(_ text: String, _ kind: AddressPolicy.Kind) throws {
    let address = try #require(SocketAddress(text, port: 80))
    #expect(AddressPolicy.kind(of: address) == kind)
    #expect(AddressPolicy().allows(address) == (kind == .global || kind == .private))
    #expect(AddressPolicy(allowsPrivate: false).allows(address) == (kind == .global))
    #expect(AddressPolicy(allowsLoopback: true).allows(address) == [.global, .private, .loopback].contains(kind))
  }
}
