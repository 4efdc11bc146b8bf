import FoundationEssentials

/// The packets of docs/protocol.md, as they stand there.
enum Golden {
  /// The bytes in hexadecimal in the row that begins with this name.
  static func packet(_ name: String) -> [UInt8]? {
    let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.md")
    let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
    let rows = text.split(separator: "\n").map { $0.split(separator: "|").map { $0.filter { $0 != " " && $0 != "`" } } }
    guard let bytes = rows.first(where: { $0.first == "vector:" + name })?.last.map(Array.init) else { return nil }
    return stride(from: 0, to: bytes.count - 1, by: 2).compactMap { UInt8(String(bytes[$0...$0 + 1]), radix: 16) }
  }
}
