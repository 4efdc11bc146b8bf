internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("The clock of a session", .timeLimit(.minutes(3)), .serialized)
struct SessionClockTests {
  private func number(_ json: JSON?) -> Double? {
    switch json {
    case .real(let number): number
    case .integer(let number): Double(number)
    default: nil
    }
  }

  @Test("P-APP-3 Clients of two gateways read one clock, and are told its error bound and whose it is")
  func shared() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let start = ContinuousClock.now
      var readings: [(elapsed: Double, bound: Double, asked: Double, source: JSON?)] = []
      for round in 0..<2 {
        if round > 0 {
          // While it is read, the two compare their clocks.
          while ContinuousClock.now - start < .seconds(2.5) { _ = try await anna.client.get("\(anna.path)/clock") }
        }
        for side in [anna, bert] {
          let asked = ContinuousClock.now - start
          let answer = try await side.client.get("\(side.path)/clock")
          let time = (ContinuousClock.now - start - asked) / .milliseconds(1)
          #expect(answer.status == 200)
          #expect(answer.json["synchronized"] == true)
          let elapsed = try #require(number(answer.json["elapsedMilliseconds"]))
          let bound = try #require(number(answer.json["boundMilliseconds"]))
          readings.append((elapsed, bound + time, asked / .milliseconds(1), answer.json["source"]))
        }
      }
      // One of the two gateways follows the other.
      #expect(readings.suffix(2).filter { $0.source == .null }.count == 1)
      let last = readings.suffix(2).map { $0 }
      let apart = (last[1].elapsed - last[0].elapsed) - (last[1].asked - last[0].asked)
      #expect(abs(apart) <= last[0].bound + last[1].bound + 1)
      #expect(last[0].elapsed > 2_000)
    }
  }

  @Test("The clock of a session that is not there is a problem")
  func missing() async throws {
    try await TwoClients.hold { meeting in
      let alone = try await meeting.anna.client.get("/v1/sessions/none/clock")
      #expect(alone.status == 404)
      #expect(alone.json["type"] == "/problems/notFound")
    }
  }
}
