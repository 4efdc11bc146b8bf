import Nearby
import Testing

@testable import vicinity

@Suite struct InstructionTests {
  private func read(_ line: String, json: Bool = false, files: Set<String> = []) throws -> Instruction? {
    try Instruction(line, slashMayBeMissing: json) { files.contains($0) }
  }

  @Test func `Text without a slash is said, as it stands`() throws {
    #expect(try read("hello  there ") == .say("hello  there "))
    #expect(try read("/say  /quit ") == .say(" /quit "))
    #expect(try read("quit") == .say("quit"))
    #expect(try read("") == nil)
    #expect(try read("   ") == nil)
  }

  @Test func `One alone is told by a name, which quotation marks keep together`() throws {
    #expect(try read("/to Ada hello  there") == .tell("hello  there", to: "Ada"))
    #expect(try read("/to 'Ada B' hello") == .tell("hello", to: "Ada B"))
    #expect(try read("to Ada hi to Bob", json: true) == .tell("hi to Bob", to: "Ada"))
    for line in ["/to", "/to Ada", "/to Ada ", "/to \"Ada B", "/to \"Ada\"", "/to '' x", "/to 'Ada'x"] {
      #expect(throws: UsageError.self, "\(line)") { try read(line) }
    }
  }

  @Test func `For programs the slash may be missing`() throws {
    #expect(try read("say hello there", json: true) == .say("hello there"))
    #expect(try read("say ", json: true) == .say(""))
    #expect(try read("quit", json: true) == .quit)
    #expect(try read("/quit", json: true) == .quit)
    #expect(throws: UsageError.self) { try read("hello there", json: true) }
    #expect(try read("", json: true) == nil)
  }

  @Test func `A path goes to the last "to", to all without one, and quotation marks or a file keep it whole`() throws {
    #expect(try read("/send a.txt") == .send(path: "a.txt", to: nil))
    #expect(try read("/send  a b.txt  to Ada B ") == .send(path: "a b.txt", to: "Ada B"))
    #expect(try read("/send way to go to Ada") == .send(path: "way to go", to: "Ada"))
    #expect(try read("/send way to go", files: ["way to go"]) == .send(path: "way to go", to: nil))
    #expect(try read("/send \"way to go\"") == .send(path: "way to go", to: nil))
    #expect(try read("/send 'way to go' to Ada") == .send(path: "way to go", to: "Ada"))
    #expect(try read("/stream numbers to Ada") == .stream(name: "numbers", to: "Ada"))
    for line in ["/send", "/send \"a", "/send 'a'b", "/send \"\"", "/stream"] {
      #expect(throws: UsageError.self, "\(line)") { try read(line) }
    }
  }

  @Test func `Questions are answered by number, or the oldest`() throws {
    #expect(try read("/accept") == .accept(nil))
    #expect(try read("/decline 3") == .decline(3))
    #expect(try read("/cancel 3 ") == .cancel(3))
    #expect(throws: UsageError.self) { try read("/accept him") }
  }

  @Test func `P-BRO-6 Peers nearby are listed, all or some, and one is invited by a name of any words`() throws {
    #expect(try read("/nearby") == .nearby(NearbyFilter()))
    #expect(try read("/nearby ad  level=3") == .nearby(NearbyFilter(words: ["ad", "level=3"])))
    #expect(try read("invite Ada B ", json: true) == .invite("Ada B"))
    #expect(throws: UsageError.self) { try read("/invite ") }
  }

  @Test func `The nearest real word is suggested, and every one is understood`() throws {
    #expect { try read("/acept") } throws: { "\($0)".contains("Did you mean '/accept'?") }
    for kind in Instruction.kinds {
      let words = ["say", "to", "send", "stream", "compare", "invite"].contains(kind.name) ? " x y" : ""
      #expect(throws: Never.self) { try read("/\(kind.name)\(words)") }
    }
  }
}

@Suite struct RosterTests {
  private let ada = peer("aaaaaaaaaaaaaaaaaaaaaaaaaa")
  private let bob = peer("aaabbbbbbbbbbbbbbbbbbbbbba")
  private let eve = peer("ccccccccccccccccccccccccca")

  @Test func `A word means a whole ID, a name, or the beginning of an ID, that only one has`() {
    let names = [ada: "Ada", bob: "Bob", eve: "aaa"]
    #expect(PeerChoice("Ada", among: names) == .one(ada))
    #expect(PeerChoice("ada", among: names) == .one(ada))
    #expect(PeerChoice("aaab", among: names) == .one(bob))
    #expect(PeerChoice(ada.text, among: names) == .one(ada))
    #expect(PeerChoice("cc", among: names) == .none)
    #expect(PeerChoice("Mallory", among: names) == .none)
    // Eve has named herself so that she could be taken for somebody's ID.
    #expect(PeerChoice("aaa", among: names) == .several([ada, bob, eve]))
    #expect(PeerChoice("Ada", among: [ada: "Ada", bob: "Ada"]) == .several([ada, bob]))
    #expect(PeerChoice(ada.text, among: [ada: "Ada", bob: ada.text]) == .one(ada))
  }

  @Test func `A peer with another's name is shown with the beginning of its ID`() {
    var labels = PeerLabels()
    labels.add(ada, "Ada")
    #expect(labels.label(ada) == "Ada")
    labels.add(bob, "ADA")
    #expect(labels.label(ada) == "Ada (aaaaaa)")
    #expect(labels.label(bob) == "ADA (aaabbb)")
    labels.add(bob, "B\u{1B}ob")
    #expect(labels.label(bob) == "B\\u{1b}ob")
    #expect(labels.label(eve) == "cccccc")
  }
}

/// A constant of the tests that is an ID.
private func peer(_ text: String) -> PeerID { try! PeerID(text: text) }
