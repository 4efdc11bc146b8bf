import Foundation
import Testing

@testable import Simulator

@Suite struct ReplayTests {
  @Test("One seed gives the same run each time", arguments: [Scenario.pair, .adhoc, .churn, .malicious, .restart])
  func sameRun(scenario: Scenario) {
    let first = Simulation.run(scenario, seed: 11, recording: true)
    let second = Simulation.run(scenario, seed: 11, recording: true)
    #expect(first.digest == second.digest)
    #expect(first.transcript == second.transcript)
    #expect(first.tally == second.tally)
  }

  @Test("One seed gives the same run in every process, whatever the order of its hash tables", arguments: [3, 8, 24])
  func sameRunElsewhere(seed: Int) throws {
    // SwiftPM puts the tests and the program in one folder.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "simulate")
    let endings = try (0..<2).map { _ in
      let process = Process()
      let pipe = Pipe()
      process.executableURL = program
      process.arguments = ["--seed", "\(seed)"]
      process.standardOutput = pipe
      try process.run()
      let output = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      return String(decoding: output, as: UTF8.self)
    }
    #expect(endings[0] == endings[1])
    #expect(endings[0].contains("every rule holds"))
  }

  @Test("Recording changes nothing")
  func recording() {
    #expect(Simulation.run(.groups, seed: 3).digest == Simulation.run(.groups, seed: 3, recording: true).digest)
  }

  @Test("Other seeds give other runs")
  func otherRuns() {
    #expect(Simulation.run(.pair, seed: 1).digest != Simulation.run(.pair, seed: 2).digest)
  }

  @Test("The random source gives the numbers of its published reference")
  func reference() {
    var state: UInt64 = 1_234_567
    #expect(Random.splitmix(&state) == 6_457_827_717_110_365_317)
    #expect(Random.splitmix(&state) == 3_203_168_211_198_807_973)
  }

  @Test("Events come by time, and in the order of planning within one moment")
  func order() {
    var queue = EventQueue<Int>()
    var random = Random(seed: 5)
    var planned: [(Int64, Int)] = []
    for number in 0..<500 {
      let time = Int64(random.below(40))
      queue.push(number, at: time)
      planned.append((time, number))
    }
    planned.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    for (time, number) in planned {
      let next = queue.pop()
      #expect(next?.time == time)
      #expect(next?.event == number)
    }
    #expect(queue.isEmpty)
  }
}
