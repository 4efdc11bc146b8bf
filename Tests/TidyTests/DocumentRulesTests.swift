import Testing

@Suite("Documents")
struct DocumentRulesTests {
  @Test("Relative links lead somewhere")
  func links() {
    expectNone(Repository.files.flatMap { DocumentRules.links($0) })
  }

  @Test("Every rule of parity has its row, and its status fits its tests")
  func parity() throws {
    let page = try #require(Repository.file("docs/parity.md"))
    let lab = Repository.files.filter { $0.path.hasPrefix("Tests/Lab/") }
    let gateways = lab.filter { $0.path.hasPrefix("Tests/Lab/Gateway") }
    let radios = Repository.files.filter { $0.path.hasPrefix("Tests/Radio/jobs/") }
    expectNone(
      DocumentRules.parity(
        page, testNames: DocumentRules.testNames(in: Repository.files), labNames: DocumentRules.testNames(in: lab),
        gatewayNames: DocumentRules.testNames(in: gateways), radioNames: DocumentRules.testNames(in: radios)))
  }

  @Test("Every example of the library's documentation is compiled")
  func examples() throws {
    let compiled = try #require(Repository.file("Tests/NearbyTests/Examples.swift"))
    let library = Repository.swiftFiles.filter { $0.path.hasPrefix("Sources/Nearby/") }
    #expect(library.contains { $0.text.contains("/// ```swift") })
    expectNone(library.flatMap { DocumentRules.examples($0, compiled: compiled) })
  }

  @Test("Each class of the library has an example in its documentation")
  func classesHaveExamples() {
    expectNone(
      Repository.swiftFiles.filter { $0.path.hasPrefix("Sources/Nearby/") }.flatMap(DocumentRules.classesWithoutExample)
    )
    let file = SourceFile(
      path: "Sources/A/A.swift",
      text: """
        /// A.
        /// ```swift
        /// a.go()
        /// ```
        public final class A {}
        /// B.
        public actor B {}
        public struct C {}
        final class D {}
        """)
    #expect(DocumentRules.classesWithoutExample(file).map(\.line) == [7])
  }

  @Test("An example that nobody compiles is found")
  func findsStaleExamples() {
    let file = SourceFile(
      path: "Sources/A/A.swift",
      text: "/// ```swift\n/// let a = try b()\n/// a.go()\n/// ```\n  /// ```swift\n  /// a.stop()\n  /// ```\n")
    let compiled = SourceFile(path: "Tests/E.swift", text: "  let a = try b()\n  a.go()\n")
    #expect(DocumentRules.examples(file, compiled: compiled).map(\.line) == [5])
  }

  @Test("A link that leads nowhere is found, and so is one to a heading that is not there")
  func findsDeadLinks() {
    let page = SourceFile(path: "docs/page.md", text: "# The page\n[a](other.md) [b](https://a.example/c.md)\n")
    let index = SourceFile(
      path: "docs/index.md",
      text: """
        # An index, of sorts
        [a](page.md), [b](page.md#the-page), [c](#an-index-of-sorts)
        [d](page.md#elsewhere)
        [e](../page.md)
        """)
    let pages = ["docs/page.md": page, "docs/index.md": index]
    func found(in file: SourceFile) -> [Int] {
      DocumentRules.links(file, exists: { pages[$0] != nil }, read: { pages[$0] }).map(\.line)
    }
    #expect(found(in: page) == [2])
    #expect(found(in: index) == [3, 4])
  }

  @Test("A missing, doubled or unknown rule, and a status that does not fit are found")
  func findsBadParity() {
    let page = SourceFile(
      path: "docs/parity.md",
      text: """
        | id | rule | status | gap |
        | P-ID-1 | names | proved | |
        | P-ID-2 | apart | proved | |
        | P-ID-2 | apart | open | |
        | P-ID-9 | none | open | |
        | P-ID-3 | archive | proved | the dashboard |
        """)
    let findings = DocumentRules.parity(
      page, testNames: ["P-ID-1 a name is short", "P-ID-3 survives", "P-ID-44 is another"],
      labNames: ["P-ID-1 a name is short"], gatewayNames: [], radioNames: ["P-ID-33 is another"],
      rules: ["P-ID-1", "P-ID-2", "P-ID-3", "P-ID-4"],
      labRules: ["P-ID-1", "P-ID-2"], gatewayRules: ["P-ID-1"], radioRules: ["P-ID-3"])
    #expect(
      findings.map(\.description) == [
        "docs/parity.md:2: P-ID-1 has no test of gateways in 'Tests/Lab'.",
        "docs/parity.md:3: P-ID-2 is open, by its tests and its gap.",
        "docs/parity.md:3: P-ID-2 has no test in 'Tests/Lab'.",
        "docs/parity.md:4: P-ID-2 stands here a second time.",
        "docs/parity.md:5: P-ID-9 is no rule.",
        "docs/parity.md:6: P-ID-3 is partly, by its tests and its gap.",
        "docs/parity.md:6: P-ID-3 has no test in 'Tests/Radio'.",
        "docs/parity.md:1: P-ID-4 is missing.",
      ])
  }

  @Test("Names of the radio jobs' tests are those that begin with a rule: of what is tried, and of figures with a goal")
  func readsRadioTestNames() {
    let job = SourceFile(
      path: "Tests/Radio/jobs/a.sh",
      text: """
        passes() { echo; }
        passes "P-SES-8 bridge: a file arrives" file
        figure "P-NET-2 a: found after" "$(found)" s '<= 6'
        figure "P-NET-2 a: round trip" "$ROUND" ms
        passes "both: nobody was told" told
        """)
    #expect(
      DocumentRules.testNames(in: [job]) == ["P-SES-8 bridge: a file arrives", "P-NET-2 a: found after"])
  }

  @Test("Test names are read from strings, from raw identifiers, and from functions of the dashboard's tests")
  func readsTestNames() {
    let text =
      "@Test(\"A is \\\"b\\\"\")\nfunc a() {}\n@Test func `C is d`() {}\n@Test\nfunc\n  `G is h`() {}\nlet e = \"F\"\n"
    let file = SourceFile(path: "Tests/WireTests/FrameTests.swift", text: text)
    #expect(DocumentRules.testNames(in: [file]) == ["A is \\\"b\\\"", "C is d", "G is h"])
    let page = SourceFile(path: "Tests/Dashboard/test_g.py", text: "    def test_p_id_1_g_is_h(self):\n")
    #expect(DocumentRules.testNames(in: [page]) == ["test_p_id_1_g_is_h"])
  }
}
