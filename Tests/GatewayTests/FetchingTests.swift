internal import Foundation
internal import Glibc
internal import Nearby
internal import Notation
internal import Reactor
internal import Synchronization
internal import Testing

@testable internal import Gateway

/// Fetches for clients reach no server that trusts this machine.
@Suite("What is fetched for a client is not fetched from this machine", .timeLimit(.minutes(3)), .serialized)
struct FetchingTests {
  /// Counts the connections to a port of this machine, at any of its addresses.
  private final class ConnectionCounter: @unchecked Sendable {
    // `@unchecked`: it is made and asked by one test.

    let port: UInt16
    private let socket: CInt
    private var count = 0

    init() throws {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      var no: CInt = 0
      let socket = Glibc.socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      self.socket = socket
      setsockopt(socket, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &no, socklen_t(MemoryLayout<CInt>.size))
      let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          let result = bind(socket, pointer, length)
          listen(socket, 64)
          getsockname(socket, pointer, &length)
          return result
        }
      }
      port = UInt16(bigEndian: address.sin6_port)
      if result != 0 { throw Line.Broken(what: "nothing can listen here") }
    }

    deinit { close(socket) }

    /// The number of connections so far. A connection is in the backlog as soon as its client is connected.
    var connections: Int {
      while true {
        let next = accept(socket, nil, nil)
        if next < 0 { return count }
        close(next)
        count += 1
      }
    }
  }

  /// Answers every request with the same, and counts them.
  private final class FixedAnswerServer: Sendable {
    let port: UInt16
    private let socket: CInt
    private let asked = Mutex(0)

    init(saying answer: String) throws {
      let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.socket = socket
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          _ = bind(socket, pointer, length)
          listen(socket, 16)
          return getsockname(socket, pointer, &length)
        }
      }
      port = UInt16(bigEndian: address.sin_port)
      Thread.detachNewThread { [weak self] in
        while true {
          let client = accept(socket, nil, nil)
          if client < 0 { return }
          var head: [UInt8] = []
          var room = [UInt8](repeating: 0, count: 4_096)
          while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let count = recv(client, &room, room.count, 0)
            if count <= 0 { break }
            head += room.prefix(count)
          }
          self?.asked.withLock { $0 += 1 }
          _ = answer.utf8.withContiguousStorageIfAvailable {
            send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          shutdown(client, Int32(SHUT_WR))
          close(client)
        }
      }
    }

    deinit {
      shutdown(socket, Int32(SHUT_RDWR))
      close(socket)
    }

    var requests: Int { asked.withLock { $0 } }
  }

  /// How it ends, of a resource whose content is at an address.
  private func offer(_ url: String, _ meeting: TwoClients) async throws -> JSON {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let made = try await bert.client.make(
      "\(bert.path)/resources", ["name": "x", "to": .text(anna.peer), "url": .text(url)])
    return try await bert.client.wait(in: "\(bert.path)/resources") {
      $0["id"] == .text(made.id) && ["complete", "failed", "declined", "cancelled"].contains($0["state"])
    }
  }

  private func expectRefused(
    _ ended: JSON, _ why: String, _ url: String, _ type: JSON = "/problems/invalidParameter",
    _ location: SourceLocation = #_sourceLocation
  ) {
    let detail = ended["problem"]?["detail"]?.text ?? ""
    #expect(
      ended["state"] == "failed" && ended["problem"]?["type"] == type && detail.contains(why),
      "\(url): \(ended.line)", sourceLocation: location)
  }

  @Test("Nobody connects to a port of this machine, whatever way its address is written")
  func ownAddresses() async throws {
    try await withGateway { gateway in
      let bait = try ConnectionCounter()
      // It would count them.
      let probe = try Line(to: bait.port)
      #expect(bait.connections == 1)
      withExtendedLifetime(probe) {}
      let meeting = try await TwoClients.near(at: gateway, ["resources": "accept"])
      var hosts = [
        "127.0.0.1", "127.8.9.10", "localhost", "LOCALHOST.", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0", "[::]",
      ]
      for address in NetworkInterface.addresses(port: 0) where !address.isLoopback {
        let host = String(address.description.dropLast(2))
        hosts.append(host)
        if !address.isV6 { hosts.append("[::ffff:\(host)]") }
      }
      for host in hosts {
        let url = "http://\(host):\(bait.port)/latest/meta-data"
        let ended = try await offer(url, meeting)
        #expect(
          ended["state"] == "failed" && ended["problem"]?["detail"]?.text?.isEmpty == false, "\(url): \(ended.line)")
        #expect(bait.connections == 1, "\(url) was asked")
      }
      for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = "http://\(host):\(bait.port)/"
        expectRefused(try await offer(url, meeting), "this computer itself, which nothing is fetched from here", url)
      }
      // Numbers that a resolver takes for addresses, this machine's name, and the gateway's own port.
      for host in ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", MachineName.all.first ?? "localhost"] {
        let ended = try await offer("http://\(host):\(bait.port)/", meeting)
        #expect(ended["state"] == "failed" && bait.connections == 1, "\(host): \(ended.line)")
      }
      expectRefused(
        try await offer("http://127.0.0.1:\(gateway.port)/healthz", meeting), "this computer itself", "its own port")
      #expect(try await meeting.anna.client.get("\(meeting.anna.path)/resources?state=complete").ids == [])
    }
  }

  @Test("P-RES-1 Content of a web address arrives whole beside uploads; any other scheme is unsupported")
  func addresses() async throws {
    // Here the loopback is allowed, and stands for a place on the web.
    try await TwoClients.hold(["resources": "accept"], { $0.host.web.allowsLoopback = true }) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let bytes = (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"
      let guide = try FixedAnswerServer(saying: head + String(decoding: bytes, as: UTF8.self))
      let ended = try await offer("http://127.0.0.1:\(guide.port)/letters", meeting)
      #expect(ended["state"] == "complete" && guide.requests == 1, "\(ended.line)")
      let upload = try await bert.client.make("\(bert.path)/resources", ["name": "file", "to": .text(anna.peer)])
      #expect(try await bert.client.ask("PUT", upload.json["content"]?.text ?? "", bytes).status == 200)
      for name in ["x", "file"] as [JSON] {
        let came = try await anna.client.wait(in: "\(anna.path)/resources") {
          $0["name"] == name && $0["state"] == "complete"
        }
        #expect(try await anna.client.get(came["content"]?.text ?? "").body == bytes)
      }
      for url in ["ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1/x", "data:,x"] {
        let ended = try await offer(url, meeting)
        #expect(ended["state"] == "failed" && ended["problem"]?["type"] == "/problems/unsupported", "\(ended.line)")
      }
    }
  }

  @Test("An allowed place leads no further than what is allowed")
  func redirects() async throws {
    let bait = try ConnectionCounter()
    // Here the loopback is allowed, and stands for a place on the web.
    try await withGateway({ $0.host.web.allowsLoopback = true }) { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["resources": "accept"])
      let good = try FixedAnswerServer(saying: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
      let whole = try await offer("http://127.0.0.1:\(good.port)/", meeting)
      #expect(whole["state"] == "complete" && good.requests == 1, "\(whole.line)")
      for (target, why) in [
        ("http://169.254.169.254:\(bait.port)/latest/meta-data", "a link-local address"),
        ("http://0.0.0.0:\(bait.port)/", "no address at all"), ("http://[::]:\(bait.port)/", "no address at all"),
        ("file:///etc/passwd", "URLs cannot be fetched"),
        ("gopher://127.0.0.1:\(bait.port)/", "URLs cannot be fetched"),
      ] {
        let guide = try FixedAnswerServer(
          saying: "HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
        let ended = try await offer("http://127.0.0.1:\(guide.port)/", meeting)
        let isScheme = why.hasPrefix("URLs")
        expectRefused(ended, why, target, isScheme ? "/problems/unsupported" : "/problems/invalidParameter")
        #expect(guide.requests == 1 && bait.connections == 0, "\(target)")
      }
    }
  }
}
