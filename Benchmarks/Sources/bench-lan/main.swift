internal import Glibc
internal import Programs
internal import Report

let usage = """
  Usage: bench-lan [part ...]
    part    \(Suite.Part.allCases.map(\.rawValue).joined(separator: ", ")); all of them if none is named
  """

let names = Array(CommandLine.arguments.dropFirst())
let parts = names.compactMap { Suite.Part(rawValue: $0) }

guard parts.count == names.count else {
  print(usage)
  exit(names == ["--help"] ? 0 : 2)
}
signal(SIGPIPE, SIG_IGN)
do {
  var suite = Suite()
  try suite.run(parts.isEmpty ? Suite.Part.allCases : parts)
  print(suite.table.text)
  try Record.append(suite.table)
} catch {
  print("The benchmarks of a LAN cannot be run: \(error)")
  exit(1)
}
