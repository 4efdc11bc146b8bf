internal import Foundation

/// One run of a suite as a line of JSON, from which `docs/generate` makes the performance page.
public struct Record: Encodable {
  struct Machine: Encodable {
    let processor: String
    let cores: Int
    let kernel: String
  }

  struct Entry: Encodable {
    let name: String
    let unit: String
    let value: Double
    let low: Double?
    let high: Double?
    let atMost: Double?
    let atLeast: Double?
    let ratio: Double?
    let gates: Bool
  }

  let date: String
  let commit: String
  let machine: Machine
  let figures: [Entry]

  /// Appends the run to the file that `BENCH_RECORD` names, if it names one. `BENCH_COMMIT` says what was
  /// built.
  public static func append(_ table: Table) throws {
    let environment = ProcessInfo.processInfo.environment
    guard let path = environment["BENCH_RECORD"] else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var line = try encoder.encode(Record(table, commit: environment["BENCH_COMMIT"] ?? ""))
    line.append(UInt8(ascii: "\n"))
    let file = URL(filePath: path)
    let earlier = (try? Data(contentsOf: file)) ?? Data()
    try (earlier + line).write(to: file, options: .atomic)
  }

  init(_ table: Table, commit: String) {
    date = Date.now.formatted(.iso8601.year().month().day())
    self.commit = commit
    machine = Machine(
      processor: Self.processor, cores: ProcessInfo.processInfo.activeProcessorCount,
      kernel: (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? "")
    figures = table.figures.map { figure in
      var (atMost, atLeast): (Double?, Double?)
      switch figure.goal {
      case .atMost(let bound): atMost = bound
      case .atLeast(let bound): atLeast = bound
      case .none: break
      }
      return Entry(
        name: figure.name, unit: figure.unit, value: figure.value, low: figure.spread?.lowerBound,
        high: figure.spread?.upperBound, atMost: atMost, atLeast: atLeast, ratio: figure.ratio,
        gates: figure.gates)
    }
  }

  private static var processor: String {
    let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
    let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
    return model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
  }
}
