package import Glibc

/// Files on a disk, for threads that may wait for it.
extension Descriptor {
  private static let pieceBytes = 64 << 10

  package static func opened(_ path: String, _ flags: CInt, mode: mode_t = 0o600) throws(SystemError) -> Descriptor {
    Descriptor(owning: try system("open \(path)") { open(path, flags | O_CLOEXEC, mode) })
  }

  package func status() throws(SystemError) -> stat {
    var status = stat()
    try system("fstat") { fstat(number, &status) }
    return status
  }

  /// The next bytes; none at the end of the file.
  package func readPiece() throws(SystemError) -> [UInt8] {
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
    let count = try system("read") { read(number, &piece, piece.count) }
    piece.removeLast(piece.count - count)
    return piece
  }

  /// All of it; nil where it is longer than that.
  package func readAll(atMost bytesMax: Int) throws(SystemError) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count <= bytesMax {
      let piece = try readPiece()
      if piece.isEmpty { return bytes }
      bytes += piece
    }
    return nil
  }

  package func writeAll(_ bytes: [UInt8]) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      written += try system("write") { bytes[written...].withUnsafeBytes { write(number, $0.baseAddress, $0.count) } }
    }
  }

  /// Returns when written bytes would survive a power cut.
  package func sync() throws(SystemError) { try system("fsync") { fsync(number) } }
}
