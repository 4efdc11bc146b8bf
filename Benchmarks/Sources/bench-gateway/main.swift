internal import Glibc
internal import Programs
internal import Report

let usage = """
  Usage: bench-gateway [part ...] [number ...]
    part    \(Suite.Part.allCases.map(\.rawValue).joined(separator: ", ")); if none is named, all of them but the last five
    number  of 'crowded': how many seconds it measures without those who do not keep up, and with them; 20 if not told
            of 'crowd': how many peers each crowd has; \(Suite.crowdSizesUsual.map(String.init).joined(separator: " ")) if not told
            of 'crowds': how many peers all crowds have; \(Suite.crowdsSizeUsual) if not told
  """

let arguments = CommandLine.arguments.dropFirst()
let parts = arguments.compactMap { Suite.Part(rawValue: $0) }
let numbers = arguments.compactMap { Int($0) }

guard parts.count + numbers.count == arguments.count,
  numbers.isEmpty || !parts.allSatisfy(Suite.Part.usual.contains),
  numbers.allSatisfy({ (2...(parts == [.crowds] ? Suite.crowdsSizeUsual : Suite.crowdSizeMax)).contains($0) })
else {
  print(usage)
  exit(arguments == ["--help"] ? 0 : 2)
}
signal(SIGPIPE, SIG_IGN)
do {
  exit(try measure(parts.isEmpty ? Suite.Part.usual : parts, numbers) ? 0 : 1)
} catch {
  print("The benchmarks of a gateway cannot be run: \(error)")
  exit(1)
}

/// Whether all figures that fail a run are within their limits. A function, at whose end the servers and their folder go.
func measure(_ parts: [Suite.Part], _ numbers: [Int]) throws -> Bool {
  var suite = try Suite()
  if !numbers.isEmpty {
    suite.crowdSizes = numbers.sorted()
    suite.crowdsSize = numbers[0]
    suite.crowdedTime = max(numbers[0], 5)
  }
  for part in parts { try suite.run(part) }
  print(suite.table.text)
  try Record.append(suite.table)
  return !suite.table.figures.contains { $0.verdict == .over }
}
