import Foundation
import Testing

@testable import Simulator

@Suite struct DocumentTests {
  @Test("docs/simulation.md says every rule by its name")
  func rules() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("docs/simulation.md"), encoding: .utf8)
    for rule in Rule.allCases { #expect(text.contains("`\(rule.rawValue)`"), "\(rule.rawValue)") }
  }
}
