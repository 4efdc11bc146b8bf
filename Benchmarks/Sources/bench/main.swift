import Foundation
import Report

let usage = """
  Usage: bench [--allocations] [part ...]
    --allocations    only hold allocations to their thresholds; times are not measured
    part             \(Suite.Part.allCases.map(\.rawValue).joined(separator: ", ")); all of them if none is named
  """

var names = Array(CommandLine.arguments.dropFirst())
let allocationsOnly = names.first == "--allocations"
if allocationsOnly { names.removeFirst() }
let parts = names.compactMap { Suite.Part(rawValue: $0) }

guard parts.count == names.count else {
  print(usage)
  exit(names == ["--help"] ? 0 : 2)
}
do {
  let thresholds = try Thresholds(String(contentsOf: Thresholds.file, encoding: .utf8))
  var suite = Suite(thresholds: thresholds, allocationsOnly: allocationsOnly)
  try suite.run(parts.isEmpty ? Suite.Part.allCases : parts)
  print(suite.table.text)
  try Record.append(suite.table)
  for failure in suite.failures { print(failure) }
  exit(suite.failures.isEmpty ? 0 : 1)
} catch {
  print("The benchmarks cannot be run: \(error)")
  exit(1)
}
