internal import Glibc
internal import Programs
internal import Report

let usage = """
  Usage: bench-gateway [part ...]
    part    \(Suite.Part.allCases.map(\.rawValue).joined(separator: ", ")); all of them but history if none is named
  """

let names = Array(CommandLine.arguments.dropFirst())
let parts = names.compactMap { Suite.Part(rawValue: $0) }

guard parts.count == names.count else {
  print(usage)
  exit(names == ["--help"] ? 0 : 2)
}
signal(SIGPIPE, SIG_IGN)
do {
  try measure(parts.isEmpty ? Suite.Part.usual : parts)
} catch {
  print("The benchmarks of a gateway cannot be run: \(error)")
  exit(1)
}

/// In a function, at whose end the servers and their folder go.
func measure(_ parts: [Suite.Part]) throws {
  var suite = try Suite()
  for part in parts { try suite.run(part) }
  print(suite.table.text)
}
