internal import CQREncode

/// A text as a QR code.
public struct QRCode: Sendable {
  /// The quiet zone around the code, in modules.
  public static let frame = 4

  /// The rows of modules; true for a dark one.
  public let rows: [[Bool]]

  /// Nil where the text is empty, or too long for one.
  public init?(_ text: String) {
    // Version 0 is the smallest that holds the text.
    let bytes = Array(text.utf8)
    guard let code = QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_M) else { return nil }
    defer { QRcode_free(code) }
    let width = Int(code.pointee.width)
    // The library fills width × width bytes, which live until the code is freed.
    let modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width)
    rows = (0..<width).map { row in (0..<width).map { modules[row * width + $0] & 1 == 1 } }
  }

  /// Whether a module is light; the quiet zone is.
  public func isLight(_ row: Int, _ column: Int) -> Bool {
    guard rows.indices.contains(row), rows.indices.contains(column) else { return true }
    return !rows[row][column]
  }

  /// The code as an image that scales, dark on light whatever lies behind it.
  var svg: String {
    let width = rows.count + 2 * Self.frame
    var path = ""
    for (row, modules) in rows.enumerated() {
      var column = 0
      while column < modules.count {
        let start = column
        while column < modules.count, modules[column] { column += 1 }
        if column > start {
          path += "M\(start + Self.frame) \(row + Self.frame)h\(column - start)v1h-\(column - start)z"
        }
        column += 1
      }
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(width)" shape-rendering="crispEdges">\
      <path fill="#fff" d="M0 0h\(width)v\(width)h-\(width)z"/><path d="\(path)"/></svg>
      """
  }
}
