import FoundationEssentials
import Notation
import Testing

@testable import vicinity

@Suite struct JSONTests {
  private func read<Value: Decodable>(_ json: JSON, as type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(json.line.utf8))
  }

  @Test func `Every text comes out of a line as it went in`() throws {
    let texts =
      [
        "", "plain", "\"\\/", "\n\r\t\u{0}\u{1B}\u{7F}\u{9F}", "\u{2028}\u{202E}\u{FEFF}", "日本 👩‍👩‍👧 e\u{301}",
        "\u{E0001}\u{F0000}",
      ]
      + (0..<0x300).compactMap { Unicode.Scalar($0).map { String(Character($0)) } }
    for text in texts {
      let line = JSON.list([.text(text)]).line
      #expect(!line.contains("\n"))
      #expect(try read(.list([.text(text)]), as: [String].self).map { Array($0.utf8) } == [Array(text.utf8)])
    }
  }

  @Test func `Objects keep their order, and nest`() throws {
    let json = JSON.object([
      .number("b", 1 as UInt64), .text("a", "x"), .init("c", .list([.null, .bool(true), .number(UInt64.max)])),
    ])
    #expect(json.line == #"{"b":1,"a":"x","c":[null,true,9223372036854775807]}"#)
  }

  @Test func `Bytes are text where they are text, and base64 under another name where not`() {
    #expect(JSON.Member.bytes("text", Array("hé".utf8)) == .text("text", "hé"))
    #expect(JSON.Member.bytes("text", [0xFF]) == .text("base64", "/w=="))
    #expect(JSON.Member.bytes("text", []) == .text("text", ""))
    // Overlong, a surrogate, and past the last character.
    for bytes: [UInt8] in [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] {
      #expect(JSON.Member.bytes("text", bytes).name == "base64")
    }
  }

  @Test func `An event begins with its name and its time`() {
    let event = Event("lost", .news, [.text("peer", "x"), nil])
    #expect(event.json(at: "T") == #"{"event":"lost","at":"T","peer":"x"}"#)
  }
}
