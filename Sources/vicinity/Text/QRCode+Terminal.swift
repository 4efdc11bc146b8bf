internal import Gateway

extension QRCode {
  /// The width in columns of a terminal.
  var columns: Int { rows.count + 2 * Self.frame }

  /// The code, two rows to a line, light on dark. Without colours it is right where text is lighter than its ground.
  func lines(_ paint: Paint) -> [String] {
    stride(from: -Self.frame, to: rows.count + Self.frame, by: 2).map { row in
      let line = (-Self.frame..<rows.count + Self.frame).map { column in
        switch (isLight(row, column), isLight(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return paint.inverted(line.joined())
    }
  }
}
