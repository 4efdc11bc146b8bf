import Notation
import Testing

@testable import vicinity

@Suite struct TextTests {
  @Test(arguments: [
    ("hello", "hello"),
    ("\u{1B}[2J\u{07}x", "\\u{1b}[2J\\u{7}x"),
    ("a\nb\r\nc\td", "a b c d"),
    ("\u{9B}31m", "\\u{9b}31m"),
    ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"),
    ("a\u{200B}b\u{FEFF}", "a\\u{200b}b\\u{feff}"),
    ("x\u{2028}y", "x\\u{2028}y"),
    ("\u{7F}\u{0}", "\\u{7f}\\u{0}"),
    ("👩‍👩‍👧 ok", "👩‍👩‍👧 ok"),
    ("Zoë 日本", "Zoë 日本"),
  ])
  func `P-HAB-2 Words of strangers hold nothing that a terminal obeys or hides`(_ words: String, _ shown: String) {
    #expect(PlainText.line(words) == shown)
  }

  @Test func `P-HAB-2 No single character gets through that moves a cursor`() {
    for value in UInt32(0)...0x2FFFF {
      guard let scalar = Unicode.Scalar(value), scalar != "\u{200C}", scalar != "\u{200D}" else { continue }
      let isHarmful =
        value < 0x20 || (0x7F...0x9F).contains(value) || (0x200B...0x200F).contains(value)
        || (0x2028...0x202E).contains(value) || (0x2066...0x2069).contains(value)
      let shown = PlainText.line(String(Character(scalar)))
      #expect(!isHarmful || !shown.unicodeScalars.contains(scalar), "\(value)")
      #expect(!isHarmful || !JSON.text(String(Character(scalar))).line.unicodeScalars.contains(scalar), "\(value)")
    }
  }

  @Test func `A tower of marks is cut down`() {
    let tower = "a" + String(repeating: "\u{301}", count: 1_000)
    #expect(PlainText.line(tower).unicodeScalars.count == 9)
  }

  @Test func `Lines stay lines where they may`() {
    #expect(PlainText.lines("one\r\ntwo\n\u{1B}three") == ["one", "two", "\\u{1b}three"])
  }

  @Test(arguments: [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👍", 2), ("👩‍👩‍👧", 2), ("❤️", 2), ("", 0), ("ｗ", 2)])
  func `Columns are those of a terminal`(_ text: String, _ columns: Int) {
    #expect(DisplayWidth.of(text) == columns)
  }

  @Test func `Text that does not fit is cut at a letter, with a mark`() {
    #expect("abcdef".fitted(to: 6) == "abcdef")
    #expect("abcdef".fitted(to: 4) == "abc…")
    #expect("日本語".fitted(to: 4) == "日…")
    #expect("x".fitted(to: 0) == "")
  }

  @Test func `Lines are broken at spaces, and a long word anywhere`() {
    #expect("the quick brown fox".wrapped(to: 10) == ["the quick", "brown fox"])
    #expect("a bb".wrapped(to: 20, indent: 2) == ["a bb"])
    #expect("one two".wrapped(to: 12, indent: 4) == ["one two"])
    #expect("one three five".wrapped(to: 14, indent: 4) == ["one three", "    five"])
    #expect("0123456789abcdef".wrapped(to: 8) == ["01234567", "89abcdef"])
  }

  @Test(arguments: [40, 60, 80, 120])
  func `Help is no wider than its window`(_ columns: Int) {
    for command in Syntax.vicinity.commands {
      // An example is a line to copy.
      for line in Help(.vicinity, Paint(isOn: false), columns: columns).page(of: command)
      where !line.hasPrefix("  vicinity") && !line.hasPrefix("      ") && !line.contains("vicinity ") {
        #expect(DisplayWidth.of(line) <= columns, "\(line)")
      }
    }
  }

  @Test(
    arguments: [
      (0, "0 B"), (999, "999 B"), (1_000, "1.00 kB"), (12_345, "12.3 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"),
      (3_000_000_000, "3.00 GB"), (.max, "18.4 EB"),
    ] as [(UInt64, String)])
  func `Sizes have three digits and a unit`(_ count: UInt64, _ text: String) {
    #expect(Quantity.bytes(count) == text)
  }

  @Test(arguments: [
    (0, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (3_660, "1 h 01 min"), (90_000, "1 d 1 h"), (-5, "0 s"),
  ])
  func `Times are told in two units at most`(_ seconds: Int, _ text: String) {
    #expect(Quantity.time(.seconds(seconds)) == text)
  }

  @Test func `A table is as wide as it must be, and no wider than the window`() {
    var table = Table(titles: ["NAME", "ID", "INFO"])
    table.rows = [["Ada", "abc", "room=7"], ["日本", "de", ""]]
    #expect(table.lines(columns: 80) == ["NAME  ID   INFO", "Ada   abc  room=7", "日本  de"])
    table.rows.append([String(repeating: "n", count: 50), "abc", String(repeating: "i", count: 50)])
    for columns in 20...120 {
      #expect(table.lines(columns: columns).allSatisfy { DisplayWidth.of($0) <= columns })
    }
  }

  @Test(arguments: [
    ("brwose", "browse"), ("Browse", "browse"), ("sned", "send"), ("recieve", "receive"), ("comp", "completion"),
    ("peer", "peers"),
  ])
  func `The nearest real word is found`(_ word: String, _ nearest: String) {
    #expect(Suggestion.nearest(to: word, among: Syntax.vicinity.commands.map(\.name)) == nearest)
  }

  @Test(arguments: ["xyzzy", "", "a", "frobnicate", String(repeating: "browse", count: 10_000)])
  func `Nothing is near to what is far from everything`(_ word: String) {
    #expect(Suggestion.nearest(to: word, among: Syntax.vicinity.commands.map(\.name)) == nil)
  }

  @Test func `Pieces of bytes are parted where text may be parted`() {
    let text = Array("añ日👍z".utf8)
    for split in 0...text.count {
      var pieces = TextPieces()
      let parts = pieces.characters(Array(text[..<split])) + pieces.characters(Array(text[split...]))
      #expect(parts.allSatisfy { PlainText.text(of: $0) != nil })
      #expect(Array(parts.joined()) + pieces.rest() == text)
    }
    var pieces = TextPieces()
    #expect(pieces.characters([0xFF, 0xC3]) == [[0xFF]])
    #expect(pieces.rest() == [0xC3])
    #expect(pieces.lines(Array("one\ntwo\r\nthr".utf8)) == ["one", "two"])
    #expect(pieces.lines(Array("ee\n".utf8)) == ["three"])
    #expect(pieces.lines([UInt8](repeating: 0x61, count: 9_000)).map(\.count) == [4_096, 4_096])
  }
}
