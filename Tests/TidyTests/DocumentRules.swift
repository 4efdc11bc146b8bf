/// Rules for the documents: links lead somewhere, and rules are proved by tests that exist.
enum DocumentRules {
  /// A relative link leads to a file of the tree, and its fragment to a heading there.
  static func links(
    _ file: SourceFile, exists: (String) -> Bool = Repository.holds, read: (String) -> SourceFile? = Repository.file
  ) -> [Finding] {
    guard file.path.hasSuffix(".md") else { return [] }
    return file.lines.indices.flatMap { line in
      file.lines[line].matches(of: #/\]\(([^)\s]+)[^)]*\)/#).map { String($0.output.1) }.compactMap { link in
        guard !link.contains("://"), !link.hasPrefix("mailto:") else { return nil }
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].isEmpty ? file.path : resolve(String(parts[0]), from: file.path)
        guard exists(path) else { return file.finding(line: line, "The link '\(link)' leads nowhere.") }
        guard parts.count > 1, path.hasSuffix(".md"), let page = read(path) else { return nil }
        let isThere = headings(of: page).contains(String(parts[1]))
        return isThere ? nil : file.finding(line: line, "'\(path)' has no heading '#\(parts[1])'.")
      }
    }
  }

  private static func resolve(_ link: String, from path: String) -> String {
    var parts = link.hasPrefix("/") ? [] : path.split(separator: "/").dropLast()
    for part in link.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }

  /// The fragments of a page's headings, made as code hosts make them.
  private static func headings(of page: SourceFile) -> Set<String> {
    Set(
      page.lines.filter { $0.hasPrefix("#") }.map { line in
        let title = line.drop { $0 == "#" || $0 == " " }.lowercased()
        return title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
      })
  }

  /// Each example in a file's documentation stands word for word in a file that is compiled.
  static func examples(_ file: SourceFile, compiled: SourceFile) -> [Finding] {
    let known = compiled.lines.map { $0.drop { $0 == " " } }
    var findings: [Finding] = []
    var start: Int?
    for line in file.lines.indices {
      let text = file.lines[line].drop { $0 == " " }
      if text == "/// ```swift" {
        start = line
      } else if text == "/// ```", let begun = start {
        let example = file.lines[(begun + 1)..<line].map { $0.drop { $0 == " " }.dropFirst(4).drop { $0 == " " } }
        let isCompiled = !example.isEmpty && known.indices.contains { known[$0...].starts(with: example) }
        if !isCompiled { findings.append(file.finding(line: begun, "This example is not in '\(compiled.path)'.")) }
        start = nil
      }
    }
    return findings
  }

  /// A class is where a program does something with the library: its documentation shows how.
  static func classesWithoutExample(_ file: SourceFile) -> [Finding] {
    file.lines.indices.compactMap { line in
      let declaration = file.lines[line].prefixMatch(of: #/public (final )?(class|actor) (\w+)/#)
      guard let name = declaration?.output.3 else { return nil }
      let documentation = file.lines[..<line].reversed().prefix { $0.hasPrefix("///") || $0.hasPrefix("@") }
      if documentation.contains("/// ```swift") { return nil }
      return file.finding(line: line, "The documentation of '\(name)' has no example.")
    }
  }

  /// How many rules of each family there are: what a nearby-session framework must do.
  static let parityFamilies = [
    ("ID", 5), ("ADV", 6), ("BRO", 7), ("SES", 9), ("MSG", 5), ("STR", 3), ("RES", 5), ("SEC", 5), ("CUS", 1),
    ("ERR", 1), ("NET", 3), ("APP", 6), ("HAB", 5),
  ]

  static var parityRules: [String] {
    parityFamilies.flatMap { family, count in (1...count).map { "P-\(family)-\($0)" } }
  }

  /// The rules between peers, which tests prove with processes on hosts of their own. The other families concern the
  /// network itself, whole applications and advice.
  static let labRules =
    parityRules.filter { rule in !["P-NET", "P-APP", "P-HAB"].contains { rule.hasPrefix($0) } }
    + ["P-HAB-1", "P-HAB-4", "P-HAB-5"]

  /// The rules that a client of a gateway can observe, which tests also prove with two gateways in processes of their
  /// own. The dashboard's tests prove the rules of a ready-made interface.
  static let gatewayRules =
    labRules.filter { !["P-ADV-6", "P-BRO-6"].contains($0) } + ["P-NET-1", "P-HAB-2", "P-HAB-3"]

  /// The rules of radios, which tests also prove in machines whose radios are simulated.
  static let radioRules = ["P-SES-8", "P-SES-9", "P-NET-2", "P-NET-3"]

  /// Every rule has a row `| id | rule | status | gap |`. A rule without a test is `open`, one with a gap `partly`, and any
  /// other `proved`. Rules between hosts have a test of the laboratory, and where clients can see them, one of gateways there; those
  /// of radios have one with radios.
  static func parity(
    _ page: SourceFile, testNames: Set<String>, labNames: Set<String>, gatewayNames: Set<String>,
    radioNames: Set<String>, rules: [String] = parityRules, labRules: [String] = labRules,
    gatewayRules: [String] = gatewayRules, radioRules: [String] = radioRules
  ) -> [Finding] {
    var findings: [Finding] = []
    var seen: Set<String> = []
    for line in page.lines.indices where page.lines[line].hasPrefix("| P-") {
      let cells = page.lines[line].dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingPrefix(#/ +/#) }
      let id = String(cells[0].prefix { $0 != " " })
      func finding(_ sentence: String) { findings.append(page.finding(line: line, sentence)) }
      func isTested(by names: Set<String>) -> Bool { names.contains { Self.names(id, $0) } }
      guard rules.contains(id) else { finding("\(id) is no rule."); continue }
      guard seen.insert(id).inserted else { finding("\(id) stands here a second time."); continue }
      guard cells.count == 4 else { finding("\(id) needs four cells."); continue }
      let status = !isTested(by: testNames) ? "open" : cells[3].isEmpty ? "proved" : "partly"
      if !cells[2].hasPrefix("\(status) ") { finding("\(id) is \(status), by its tests and its gap.") }
      if labRules.contains(id), !isTested(by: labNames) { finding("\(id) has no test in 'Tests/Lab'.") }
      if gatewayRules.contains(id), !isTested(by: gatewayNames) {
        finding("\(id) has no test of gateways in 'Tests/Lab'.")
      }
      if radioRules.contains(id), !isTested(by: radioNames) { finding("\(id) has no test in 'Tests/Radio'.") }
    }
    return findings + rules.filter { !seen.contains($0) }.map { page.finding(line: 0, "\($0) is missing.") }
  }

  /// The sentences that tests are named by, as a string of `@Test` or as a raw identifier; those of the dashboard are the
  /// names of functions, and those of the radio jobs what these say that passes.
  static func testNames(in files: [SourceFile]) -> Set<String> {
    Set(files.filter { $0.path.hasPrefix("Tests/") }.flatMap { testNames(of: $0).map(String.init) })
  }

  private static func testNames(of file: SourceFile) -> [Substring] {
    if file.path.hasSuffix(".sh") {
      return file.text.matches(of: #/\bpasses "(P-[^"]+)"|\bfigure "(P-[^"]+)" .*'[<>]= [\d.]+'/#)
        .compactMap { $0.output.1 ?? $0.output.2 }
    }
    return file.text.matches(of: #/@Test\(\s*"((?:[^"\\]|\\.)+)"|func\s+`([^`]+)`|def (test_\w+)\(/#)
      .compactMap { $0.output.1 ?? $0.output.2 ?? $0.output.3 }
  }

  private static func names(_ id: String, _ testName: String) -> Bool {
    let name = testName.hasPrefix("test_") ? testName.uppercased().replacing("_", with: "-") : testName
    return name.ranges(of: id).contains { range in
      range.upperBound == name.endIndex || !name[range.upperBound].isNumber
    }
  }
}
