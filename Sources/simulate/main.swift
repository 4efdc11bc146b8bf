import Simulator

let arguments = CommandLine.arguments.dropFirst()
let scenario = Scenario(rawValue: arguments.first ?? "pair") ?? .pair
let seed = UInt64(arguments.dropFirst().first ?? "1") ?? 1
let count = UInt64(arguments.dropFirst(2).first ?? "1") ?? 1
for seed in seed..<(seed + count) {
  let outcome = Simulation.run(scenario, seed: seed, recording: count == 1)
  for line in outcome.transcript.suffix(120) { print(line) }
  print(seed, outcome.violation.map { "\($0)" } ?? "fine", outcome.tally, outcome.digest)
}
