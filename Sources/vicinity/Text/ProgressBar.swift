/// The progress of a transfer.
struct Progress: Hashable, Sendable {
  var bytes: UInt64
  /// Nil while it is unknown.
  var size: UInt64?
  /// The recent rate; 0 while it is unknown.
  var bytesPerSecond: UInt64 = 0
  var timeLeft: Duration?
}

/// A progress bar on one line: name, fraction, rate and time left.
struct ProgressBar {
  let name: String
  var progress: Progress
  /// Whether the terminal shows more than ASCII.
  var isUnicode = true

  private static let barMax = 30
  private static let barMin = 8
  private static let nameMin = 12

  func line(columns: Int) -> String {
    let figures = figures(columns: columns)
    let left = columns - DisplayWidth.of(figures) - 2
    guard left >= Self.nameMin else { return figures.fitted(to: columns) }
    let name = PlainText.line(name)
    guard let fraction, left >= Self.nameMin + Self.barMin + 4 else {
      return name.fitted(to: left) + "  " + figures
    }
    let wanted = max(Self.nameMin, min(DisplayWidth.of(name), left - Self.barMin - 4))
    let room = min(Self.barMax, left - wanted - 4)
    return name.fitted(to: wanted).padded(to: wanted) + "  " + bar(fraction, room) + "  " + figures
  }

  /// A value from 0 to 1; nil where the size is unknown.
  private var fraction: Double? {
    guard let size = progress.size else { return nil }
    return size == 0 ? 1 : min(1, Double(progress.bytes) / Double(size))
  }

  private func bar(_ fraction: Double, _ room: Int) -> String {
    let full = Int(Double(room) * fraction)
    let (done, open) = isUnicode ? ("█", "░") : ("#", "-")
    let bar = String(repeating: done, count: full) + String(repeating: open, count: room - full)
    return isUnicode ? bar : "[\(bar)]"
  }

  private func figures(columns: Int) -> String {
    var parts: [String] = []
    if let size = progress.size, let fraction {
      // The text is not 100 % before the last byte is there.
      parts.append(String(repeating: " ", count: 3 - "\(Int(fraction * 100))".count) + "\(Int(fraction * 100)) %")
      if columns >= 50 { parts.append("\(Quantity.bytes(progress.bytes)) of \(Quantity.bytes(size))") }
    } else {
      parts.append(Quantity.bytes(progress.bytes))
    }
    let isDone = progress.size == progress.bytes
    if progress.bytesPerSecond > 0, columns >= 30 { parts.append(Quantity.rate(progress.bytesPerSecond)) }
    if let timeLeft = progress.timeLeft, !isDone, columns >= 64 { parts.append("\(Quantity.time(timeLeft)) left") }
    return parts.joined(separator: "  ")
  }
}
