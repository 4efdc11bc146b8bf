import Testing

@Suite("Plain words")
struct WordRulesTests {
  @Test("A function that is named as a predicate returns a Bool")
  func predicates() {
    expectNone(Repository.swiftFiles.flatMap(WordRules.predicates))
  }

  @Test("A type's name is that of one target")
  func names() {
    #expect(WordRules.namesOfTwo(Repository.swiftFiles) == [])
  }

  @Test("Comments begin with their subject")
  func riddles() {
    expectNone(Repository.files.flatMap(WordRules.riddles))
  }

  @Test("Test names begin with their subject")
  func testNames() {
    #expect(WordRules.riddlesOfTests(in: Repository.swiftFiles) == [])
  }

  @Test("Names are no phrases")
  func phrases() {
    expectNone(Repository.swiftFiles.flatMap(WordRules.phrases))
  }

  @Test("A table's cells are short")
  func cells() {
    expectNone(Repository.files.flatMap(WordRules.cells))
  }

  @Test("A commit's subject has at most 72 characters")
  func subjects() throws {
    #expect(try WordRules.longSubjects() == [])
  }

  @Test("Commands, phrases, riddles and long cells are found")
  func finds() {
    let commands = """
      func isFull() { full = true }
      func isFull() -> Bool { full }
      func hasBegun(
        _ number: Int
      ) throws {
      // func canGo() {}
      mutating func isDue() -> Bool { take() }
      func isSame() -> Bool? { nil }
      func isIsolatingCurrentContext() -> Bool? { nil }
      """
    #expect(lines(WordRules.predicates, commands) == [1, 3, 7, 8])
    let riddles = """
      /// What is kept.
      var kept = 0
      /// The kept ones.
      /// What they are.
      func goOn() {}
      // Who is there?
      func forgetWhoIsAway() { lookedInVain() }
      text.split(whereSeparator: isSpace)
      """
    #expect(lines(WordRules.riddles, riddles) == [1] && lines(WordRules.phrases, riddles) == [5, 7])
    let sheet = "/* Where things lie. */\na {}\n/** Of both.\n * What follows\n */\n// The first\n// What comes\n"
    #expect(lines(WordRules.riddles, sheet, path: "public/a.css") == [1, 3])
    let tests = #"@Test("P-ID-1 Who comes is met")\n@Test("A peer comes")\n@Test func `What is it`() {}"#
    #expect(
      WordRules.riddlesOfTests(in: [SourceFile(path: "Tests/WireTests/A.swift", text: tests)]) == [
        "P-ID-1 Who comes is met", "What is it",
      ])
    let long = String(repeating: "x", count: 200)
    #expect(lines(WordRules.cells, "| a | \(long) |\n| \(long.dropLast()) |\n\(long)\n", path: "docs/a.md") == [1])
    let files = [
      SourceFile(path: "Sources/Wire/A.swift", text: "public struct A {}\nprivate struct B {}\n"),
      SourceFile(path: "Sources/Web/A.swift", text: "enum A {}\nstruct B {}\nstruct C {}\n"),
    ]
    #expect(WordRules.namesOfTwo(files) == ["A"])
  }
}
