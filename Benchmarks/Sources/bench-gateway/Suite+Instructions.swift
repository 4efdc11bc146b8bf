internal import Foundation
internal import Programs
internal import Report

/// How many instructions the gateway takes for a message, as callgrind counts them: as many on a busy machine as on an idle one, so
/// that more than allowed fail the run.
extension Suite {
  /// One message is under way at a time: how many go together else depends on time.
  private static let messagesUnderWay = 1
  private static let instructionsMax = [1: 165_000.0, 50: 640_000.0]

  mutating func instructions() throws {
    let counter = try CountedGateway(port: ports.next(), in: place.folder)
    let stage = try stage(counter.gateway, .memory)
    for (subscribers, limit) in Self.instructionsMax.sorted(by: { $0.key < $1.key }) {
      // The first messages find everything cold.
      _ = try perMessage(counter, stage, to: subscribers, for: 1)
      let count = try perMessage(counter, stage, to: subscribers, for: 4)
      table.add("instructions-\(subscribers)", count, "instructions", goal: .atMost(limit), gates: true)
    }
  }

  private func perMessage(_ counter: CountedGateway, _ stage: Stage, to subscribers: Int, for seconds: Int) throws
    -> Double
  {
    let place = try place(counter.gateway, stage)
    _ = try counter.instructions()
    let load = [
      "fanout", "vicinity", "\(counter.gateway.port)", "\(subscribers)", "\(Self.messagesUnderWay)", "\(seconds)",
    ]
    let messages = try number(words([program("socket-load")] + load + place, after: seconds), 5)
    return try counter.instructions() / messages
  }
}

/// A gateway that runs in callgrind.
private final class CountedGateway {
  let gateway: GatewayUnderTest
  private let file: String
  private var dumps = 0

  init(port: Int, in folder: String) throws {
    file = "\(folder)/instructions"
    // Valgrind cannot read Swift's debug symbols, and ends at them.
    let stripped = "\(folder)/vicinity"
    _ = try Child(["strip", "-o", stripped, program("vicinity")]).ended()
    let callgrind = ["valgrind", "--tool=callgrind", "--quiet", "--callgrind-out-file=\(file)", stripped]
    gateway = try GatewayUnderTest("counted", port: port, at: [], in: folder, by: callgrind)
  }

  /// The count of all threads since the call before.
  func instructions() throws -> Double {
    let said = try Child(["sh", "-c", "callgrind_control --dump \(gateway.process.process) 2>&1 | tr '\\n' ' '; echo"])
      .line()
    dumps += 1
    let totals = try String(contentsOfFile: "\(file).\(dumps)", encoding: .utf8).split(separator: "\n")
      .last { $0.hasPrefix("totals: ") || $0.hasPrefix("summary: ") }
    guard let count = totals?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
      throw Failure("callgrind counts nothing: \(said)")
    }
    return count
  }
}
