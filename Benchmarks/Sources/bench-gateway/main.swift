internal import Glibc
internal import Programs
internal import Report

let usage = """
  Usage: bench-gateway [part ...] [seconds]
    part     \(Suite.Part.allCases.map(\.rawValue).joined(separator: ", ")); if none is named, all of them but the last two
    seconds  how long 'crowded' measures without those who do not keep up, and with them; 20 if not told
  """

var names = Array(CommandLine.arguments.dropFirst())
let seconds = names.last.flatMap { Int($0) }.map { max($0, 5) }
if seconds != nil { names.removeLast() }
let parts = names.compactMap { Suite.Part(rawValue: $0) }

guard parts.count == names.count else {
  print(usage)
  exit(names == ["--help"] ? 0 : 2)
}
signal(SIGPIPE, SIG_IGN)
do {
  try measure(parts.isEmpty ? Suite.Part.usual : parts, seconds)
} catch {
  print("The benchmarks of a gateway cannot be run: \(error)")
  exit(1)
}

/// In a function, at whose end the servers and their folder go.
func measure(_ parts: [Suite.Part], _ seconds: Int?) throws {
  var suite = try Suite()
  if let seconds { suite.crowdedTime = seconds }
  for part in parts { try suite.run(part) }
  print(suite.table.text)
  try Record.append(suite.table)
}
