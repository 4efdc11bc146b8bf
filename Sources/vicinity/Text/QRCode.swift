internal import CQREncode

/// A text as a QR code.
struct QRCode: Sendable {
  /// The quiet zone around the code, in modules.
  private static let frame = 4

  /// The rows of modules; true for a dark one.
  private let rows: [[Bool]]

  /// Nil where the text is too long for one.
  init?(_ text: String) {
    // Version 0 is the smallest that holds the text.
    guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    // The library fills width × width bytes, which live until the code is freed.
    let modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width)
    rows = (0..<width).map { row in (0..<width).map { modules[row * width + $0] & 1 == 1 } }
  }

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

  private func isLight(_ row: Int, _ column: Int) -> Bool {
    guard rows.indices.contains(row), rows.indices.contains(column) else { return true }
    return !rows[row][column]
  }
}
