import Notation
import Testing

@testable import Gateway
@testable import Nearby
@testable import Store
@testable import vicinity

/// P-ERR-1: what the library calls an error, REST and the WebSocket do too, and so does the terminal.
@Suite struct ErrorNameTests {
  private static let reasons = Reason.allCases.filter { $0 != .none }

  private static let all: [NearbyError] =
    (0...6).compactMap(NearbyError.Code.init(rawValue:)).map { NearbyError($0, "A sentence.") }
    + [NearbyError(queueFull: "A sentence."), NearbyError(StoreError.full(path: "here"))]
    + reasons.map { NearbyError($0, of: "the invitation") }

  @Test func `P-ERR-1 Every error has one name and one reason in the library, by REST and on the terminal`() throws {
    for error in Self.all {
      let problem = Problem(error)
      let failure = Failure(wrapping: error)
      let told = try JSON(parsing: Array(Event.error(failure).json(at: "now").utf8))
      #expect(problem.json["type"] == .text("/problems/\(error.code)"))
      #expect(told["error"] == .text("\(error.code)"), "\(told.line)")
      #expect(told["reason"] == problem.json["reason"] && told["reason"]?.text == error.reasonName, "\(told.line)")
      #expect(told["text"] == problem.json["detail"] && told["text"] == .text(error.description))
      #expect(told["code"] == .number(Int(failure.code.rawValue)))
      // People read the sentence.
      #expect(Event.error(failure).lines(Paint(isOn: false)) == ["vicinity: \(error.description)"])
    }
    #expect(Set(Self.all.map(\.code)).count == 7 && Self.reasons.count > 20)
  }

  @Test func `P-ERR-1 An error in a line is an invalid parameter, and other findings have no name`() throws {
    for (code, name) in [(ExitCode.usage, JSON.text("invalidParameter")), (.failed, nil)] as [(ExitCode, JSON?)] {
      let told = try JSON(parsing: Array(Event.error(Failure(code, "A sentence.")).json(at: "now").utf8))
      #expect(told["error"] == name && told["reason"] == nil && told["code"] == .number(Int(code.rawValue)))
    }
  }
}
