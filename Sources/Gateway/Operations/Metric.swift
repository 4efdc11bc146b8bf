/// One metric family of `/metrics`.
struct Metric: Sendable {
  enum Kind: String, Sendable { case counter, gauge, histogram }

  /// A value with its labels; a histogram's also have the suffix of their name.
  struct Sample {
    var labels: [(name: String, value: String)] = []
    var value: Double
    var ending = ""

    init(_ value: some BinaryInteger, _ labels: (name: String, value: String)...) {
      (self.value, self.labels) = (Double(value), labels)
    }

    init(_ value: Double, _ labels: (name: String, value: String)...) {
      (self.value, self.labels) = (value, labels)
    }
  }

  /// The full name: a counter's ends in `_total`.
  let name: String
  let kind: Kind
  let help: String
  /// Called on the loop for each scrape.
  let samples: @Sendable (Core) -> [Sample]

  init(_ kind: Kind, _ name: String, _ help: String, _ samples: @escaping @Sendable (Core) -> [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// A metric with one value, or with none where it is not available.
  static func one(
    _ kind: Kind, _ name: String, _ help: String, _ value: @escaping @Sendable (Core) -> Double?
  ) -> Metric {
    Metric(kind, name, help) { core in value(core).map { [Sample($0)] } ?? [] }
  }
}

/// The Prometheus exposition, in both of its formats.
struct Exposition {
  enum Form: Sendable {
    /// The Prometheus text format, 0.0.4.
    case text
    /// OpenMetrics 1.0.
    case openMetrics

    var type: String {
      switch self {
      case .text: "text/plain; version=0.0.4; charset=utf-8"
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      }
    }
  }

  let form: Form
  private(set) var text = ""

  init(_ metrics: [Metric], of core: Core, as form: Form) {
    self.form = form
    for metric in metrics { write(metric, metric.samples(core)) }
    if form == .openMetrics { text += "# EOF\n" }
  }

  private mutating func write(_ metric: Metric, _ samples: [Metric.Sample]) {
    if samples.isEmpty { return }
    // In OpenMetrics the family of a counter is named without its suffix.
    let isCounter = metric.kind == .counter && form == .openMetrics
    let family = isCounter ? String(metric.name.dropLast("_total".count)) : metric.name
    text += "# HELP \(family) \(Self.escaped(metric.help, quotes: false))\n# TYPE \(family) \(metric.kind.rawValue)\n"
    for sample in samples {
      text += metric.name + sample.ending
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
        text += "{\(labels.joined(separator: ","))}"
      }
      text += " \(Self.number(sample.value))\n"
    }
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    let plain = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
    return quotes ? plain.replacing("\"", with: "\\\"") : plain
  }

  static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
  }
}

extension Histogram {
  /// Prometheus buckets: each counts all shorter times, too.
  func samples(_ labels: [(name: String, value: String)]) -> [Metric.Sample] {
    var samples: [Metric.Sample] = []
    var below = 0
    for (place, count) in counts.enumerated() {
      below += count
      let bound = place < Self.bounds.count ? Double(Self.bounds[place]) / 1e9 : .infinity
      samples.append(Self.sample(below, labels + [("le", Exposition.number(bound))], "_bucket"))
    }
    samples.append(Self.sample(Double(sum) / 1e9, labels, "_sum"))
    samples.append(Self.sample(total, labels, "_count"))
    return samples
  }

  private static func sample(
    _ value: some BinaryInteger, _ labels: [(name: String, value: String)], _ ending: String
  ) -> Metric.Sample { sample(Double(value), labels, ending) }

  private static func sample(_ value: Double, _ labels: [(name: String, value: String)], _ ending: String)
    -> Metric.Sample
  {
    var sample = Metric.Sample(value)
    (sample.labels, sample.ending) = (labels, ending)
    return sample
  }
}
