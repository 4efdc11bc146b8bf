internal import Foundation
internal import Testing

@testable internal import Gateway

@Suite("docs/operations.md says what there is")
struct OperationsPageTests {
  private let page: String

  init() throws {
    let path = Document.path.replacingOccurrences(of: "openapi/vicinity.json", with: "docs/operations.md")
    page = try String(contentsOfFile: path, encoding: .utf8)
  }

  /// The first column of the table that begins with this row.
  private func firstColumn(under head: String) throws -> [String] {
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    let start = try #require(lines.firstIndex { $0.hasPrefix(head) })
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { row in
      row.split(separator: "|")[0].filter { $0 != " " && $0 != "`" }
    }
  }

  @Test("Each metric has its row, in the order in which it is told, and each row its metric")
  func metrics() throws {
    #expect(try firstColumn(under: "| metric |") == Metric.all.map(\.name))
  }

  @Test("Each close code has its row, and each row its code; those of each WebSocket are among them")
  func closeCodes() throws {
    let codes = CloseCode.allCases.map { "\($0.rawValue)" }
    #expect(try firstColumn(under: "| code | why") == codes)
    let path = Document.path.replacingOccurrences(of: "openapi/vicinity.json", with: "docs/websocket.md")
    let told = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { row in
      row.firstMatch(of: #/^\| (\d{4}) \|/#).map { String($0.1) }
    }
    #expect(Set(told) == Set(codes))
  }

  @Test("Each limit that may be set has its row, and each row its limit")
  func limits() throws {
    #expect(try firstColumn(under: "| option | what it limits") == GatewayLimits.all.map(\.option))
  }
}
