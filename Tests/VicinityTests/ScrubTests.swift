import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

/// The reports of a gateway in a process of its own about damage on its disk.
@Suite(.timeLimit(.minutes(3)), .serialized) struct ScrubTests {
  private func change(_ text: String, in path: String) throws {
    let bytes = try #require(FileManager.default.contents(atPath: path).map { [UInt8]($0) })
    let text = Array(text.utf8)
    let place = try #require((0...bytes.count - text.count).first { bytes[$0..<$0 + text.count].elementsEqual(text) })
    let file = open(path, O_WRONLY)
    defer { close(file) }
    try #require(pwrite(file, [text[0] ^ 1], 1, off_t(place)) == 1)
  }

  @Test("A byte that changes in a file or a message is found within a pass, and nothing else is touched")
  func damage() throws {
    let folder = TemporaryFolder()
    let options = ["--discovery", "static", "--scrub-time", "1"]
    let ada = try GatewayClient("ada", in: folder, options)
    let bob = try GatewayClient("bob", in: folder, options)
    try ada.connect(with: bob)
    let kept = "\(folder.path)/bob/gateway"
    for name in ["one", "two"] {
      let file = try folder.write(Array("the words of \(name)".utf8), to: name)
      let made = try ada.ask("POST", "\(ada.path)/resources", ["name": .text(name), "to": .text(bob.peer)])
      try ada.upload(file, to: made["content"]?.text ?? "")
      _ = try bob.wait(in: "\(bob.path)/resources") { $0["name"] == .text(name) && $0["sha256"] != nil }
    }
    for text in ["first", "second words"] { try bob.ask("POST", "\(bob.path)/messages", .text(text)) }

    try change("the words", in: "\(kept)/received/\(bob.session)/one")
    let damaged = try bob.wait(in: "\(bob.path)/resources") { $0["state"] == "damaged" }
    #expect(damaged["name"] == "one" && damaged["problem"]?["rule"] == "damaged")
    #expect(throws: GatewayClient.Refused.self) {
      try bob.download(damaged["content"]?.text ?? "", to: "\(folder.path)/had")
    }
    let sound = try bob.wait(in: "\(bob.path)/resources") { $0["name"] == "two" }
    try bob.download(sound["content"]?.text ?? "", to: "\(folder.path)/had")
    #expect(sound["state"] == "complete" && folder.bytes(of: "had") == Array("the words of two".utf8))

    bob.program.signal(SIGTERM)
    #expect(try bob.program.ended(within: 60) == 0)
    #expect(bob.program.err.contains("\(kept)/quarantine"), "\(bob.program.err)")
    try change("second words", in: "\(kept)/gateway.db")
    let again = try GatewayClient(again: bob, options)
    _ = try again.wait(in: "/v1/events") { $0["event"] == "messageDamaged" }
    let messages = try again.ask("GET", "\(again.path)/messages")["items"]?.list ?? []
    #expect(messages.map { $0["damaged"] == true } == [false, true], "\(messages)")
  }
}
