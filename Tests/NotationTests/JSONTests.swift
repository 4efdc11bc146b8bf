import Notation
import Testing

@Suite struct JSONTests {
  @Test(
    "A written value is read back",
    arguments: [
      #"null"#, #"true"#, #"-12"#, #"9223372036854775807"#, #""""#, #""é 🦊""#, #"[]"#, #"{}"#, #"[1,[2,[3]]]"#,
      #"{"a":{"b":[null,false]},"c":"d"}"#,
    ])
  func roundTrip(_ text: String) throws {
    #expect(try JSON(parsing: text).line == text)
  }

  @Test("Control characters are escaped, and read back as they were")
  func escapes() throws {
    let text = "a\"b\\c\n\t\u{1b}[31m\u{202e}\u{10fffd}"
    let line = JSON.text(text).line
    #expect(line == #""a\"b\\c\n\t\u001b[31m\u202e\udbff\udffd""#)
    #expect(try JSON(parsing: line) == .text(text))
  }

  @Test(
    "Invalid JSON is refused, with the fault and its place",
    arguments: [
      ("", "the text ends where a value should be, at byte 0"),
      ("{\"a\":1,}", "a name in quotes should be here, at byte 7"),
      ("{\"a\":1,\"a\":2}", "the name 'a' is there twice, at byte 10"),
      ("[1 2]", "a comma or the end of the list should be here, at byte 3"),
      ("01", "there is more after the value, at byte 1"), ("1.", "a digit should be here, at byte 2"),
      ("1e999", "the number 1e999 is too large, at byte 5"), ("nul", "no value begins like this, at byte 0"),
      ("\"\\x\"", "no escape looks like this, at byte 3"),
      ("\"\\ud800\"", "half of a surrogate pair stands alone, at byte 7"),
      ("\"\\u12g4\"", "four hexadecimal digits should be here, at byte 5"),
      ("\"a\nb\"", "a control character in a string must be escaped, at byte 2"),
      ("\"abc", "the text ends within a string, at byte 4"), ("'a'", "no value begins like this, at byte 0"),
      ("{\"a\" 1}", "a colon should be here, at byte 5"), ("1 1", "there is more after the value, at byte 2"),
    ])
  func refusals(_ text: String, _ sentence: String) {
    let error = #expect(throws: NotationError.self) { try JSON(parsing: text) }
    #expect(error?.description == sentence)
  }

  @Test("A name that is there twice is found among many, too", arguments: [1, 8, 9, 200])
  func twice(_ count: Int) throws {
    let members = (0..<count).map { "\"\($0)\":\($0)" }.joined(separator: ",")
    #expect(try JSON(parsing: "{\(members)}").members?.count == count)
    for name in [0, count - 1] {
      let error = #expect(throws: NotationError.self) { try JSON(parsing: "{\(members),\"\(name)\":1}") }
      #expect(error?.what == "the name '\(name)' is there twice")
    }
  }

  @Test("Text that stands for itself is told from what does not")
  func plain() {
    for byte in UInt8.min...UInt8.max {
      let isPlain = (0x20...0x7e).contains(byte) && byte != 0x22 && byte != 0x5c
      #expect(JSON.isPlain([0x61, byte, 0x62]) == isPlain, "\(byte)")
    }
  }

  @Test("A string that is not UTF-8, and a value that is nested too deep, are refused")
  func hostile() {
    #expect(throws: NotationError.self) { try JSON(parsing: [0x22, 0xff, 0x22]) }
    #expect(throws: NotationError.self) { try JSON(parsing: String(repeating: "[", count: 1_000_000)) }
    #expect(throws: Never.self) {
      try JSON(parsing: String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
    }
  }

  @Test("No cut or changed byte of a text traps the reader")
  func robust() {
    let text = Array(#"{"a":[1,-2.5e3,true,null,"x\u00e9\ud83e\udd8a\n"],"b":{}}"#.utf8)
    for place in text.indices {
      _ = try? JSON(parsing: Array(text[..<place]))
      for byte in [UInt8(0), 0x22, 0x5c, 0x7b, 0x5d, 0x80, 0xff] {
        var changed = text
        changed[place] = byte
        _ = try? JSON(parsing: changed)
      }
    }
  }
}
