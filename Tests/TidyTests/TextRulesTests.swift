import Testing

@Suite("Text and shape of files")
struct TextRulesTests {
  @Test("Files are finished, clean and at home on any machine")
  func text() {
    expectNone(Repository.files.flatMap(TextRules.all))
  }

  @Test("Files are short and named for what they declare")
  func shape() {
    expectNone(Repository.files.flatMap(ShapeRules.all))
  }

  @Test("The tree is read: its manifest, its script and these tests are among the files")
  func readsTheTree() {
    let paths = Set(Repository.files.map(\.path))
    #expect(paths.isSuperset(of: ["Package.swift", "vic", ".ci/run", "LICENSE", "Tests/TidyTests/Repository.swift"]))
  }

  @Test("A mark of unfinished work is found, in any kind of file")
  func findsMarks() {
    let mark = "TO" + "DO"
    #expect(
      lines(TextRules.marks, "fine\n# \(mark): more\n\(mark)S_OF_OTHERS\nmktemp XXXX" + "XX\n", path: "vic") == [2])
  }

  @Test("Tabs, trailing white space, carriage returns and a missing last newline are found")
  func findsWhitespace() {
    #expect(lines(TextRules.whitespace, "a\tb\nc \nd\r\ne\n") == [1, 2, 3])
    #expect(lines(TextRules.whitespace, "a\nb") == [2])
    #expect(lines(TextRules.whitespace, "a\n\nb\n") == [])
  }

  @Test("A path of a machine is found, a path of the tree is not")
  func findsPaths() {
    let home = "/" + "home/"
    #expect(
      lines(TextRules.paths, "\(home)someone\n\"\(home)x\"\nSources\(home)x\nhttps://a.example\(home)x\n") == [1, 2])
  }

  @Test("A file of more than 500 lines needs a reason as its first line")
  func findsLongFiles() {
    let long = String(repeating: "\n", count: 501)
    #expect(lines(ShapeRules.length, long) == [501])
    #expect(lines(ShapeRules.length, "// Long because one table is one file.\n" + long) == [])
    #expect(lines(ShapeRules.length, "#!/bin/sh\n# Long because it is one script.\n" + long, path: "vic") == [])
    #expect(lines(ShapeRules.length, String(repeating: "\n", count: 500)) == [])
    #expect(lines(ShapeRules.length, long, path: "docs/protocol.md") == [])
  }

  @Test("A file that is named for nothing in it is found")
  func findsMisnamedFiles() {
    func found(_ name: String, _ text: String) -> Bool {
      !ShapeRules.namedForItsType(SourceFile(path: "Sources/Wire/\(name).swift", text: text)).isEmpty
    }
    #expect(found("Frame", "struct Reader {}\n"))
    #expect(found("Frame", "// struct Frame\n"))
    #expect(found("Reader+Text", "extension Frame {}\n"))
    #expect(!found("Frame", "public struct Frame: ~Copyable {}\n"))
    #expect(!found("Reader+Text", "extension Wire.Reader {}\n"))
    #expect(!found("Hash", "func hash() {}\n"))
    #expect(!found("LinkFrames", "struct Ping: Frame {}\n"))
    #expect(!found("Keys", "struct PublicKey {}\n"))
    #expect(found("Keys", "struct Digest {}\n"))
  }

  @Test("A type or file with an empty word in its name is found")
  func findsEmptyWords() {
    #expect(
      lines(ShapeRules.emptyWords, "struct Link" + "Manager {}\nenum StringUtils {}\nstruct Commonwealth {}\n") == [
        1, 2,
      ])
    #expect(lines(ShapeRules.emptyWords, "\n", path: "Sources/Wire/TestHelpers.swift") == [1])
  }
}
