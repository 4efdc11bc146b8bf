import Foundation

let usage = """
  Usage: bench [--allocations]
    --allocations    only hold allocations to their thresholds; times are not measured
  """

switch CommandLine.arguments.dropFirst() {
case [], ["--allocations"]:
  do {
    let thresholds = try Thresholds(String(contentsOf: Thresholds.file, encoding: .utf8))
    var suite = Suite(thresholds: thresholds, allocationsOnly: CommandLine.arguments.count > 1)
    suite.run()
    print(suite.table.text)
    for failure in suite.failures { print(failure) }
    exit(suite.failures.isEmpty ? 0 : 1)
  } catch {
    print("The thresholds cannot be read: \(error)")
    exit(1)
  }
case ["--help"]:
  print(usage)
default:
  print(usage)
  exit(2)
}
