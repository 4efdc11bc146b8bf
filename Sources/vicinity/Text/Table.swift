/// A table whose columns fit their content, and which is no wider than the window.
struct Table {
  let titles: [String]
  var rows: [[String]] = []
  private static let gap = 2

  /// If room is short, the last column shrinks first, then the first.
  func lines(columns: Int) -> [String] {
    let all = [titles] + rows
    var widths = titles.indices.map { column in all.map { DisplayWidth.of($0[column]) }.max() ?? 0 }
    let spare = columns - Self.gap * (titles.count - 1)
    for column in [titles.count - 1, 0] {
      let excess = widths.reduce(0, +) - spare
      if excess > 0 { widths[column] = max(DisplayWidth.of(titles[column]), widths[column] - excess) }
    }
    return all.map { row in
      var line = ""
      for (column, text) in row.enumerated() {
        let fitted = text.fitted(to: widths[column])
        let isLast = column == row.count - 1
        line += isLast ? fitted : fitted.padded(to: widths[column] + Self.gap)
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
