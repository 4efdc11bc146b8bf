/// The media type of a message (RFC 9110), by its sender, such as `text/plain; charset=utf-8`.
public struct ContentType: Part, CustomStringConvertible {
  public let text: String
  public var description: String { text }

  public init(_ text: String) throws(WireError) {
    let bytes = text.utf8
    guard bytes.count <= Limits.contentTypeBytesMax else { throw WireError(.contentTypeTooLong(bytes: bytes.count)) }
    if let byte = bytes.first(where: { !(0x20...0x7E).contains($0) }) {
      throw WireError(.contentTypeCharacter(byte: byte))
    }
    let essence = bytes.prefix { $0 != UInt8(ascii: ";") }
    let space = UInt8(ascii: " ")
    let end = essence.lastIndex { $0 != space }.map(essence.index(after:)) ?? essence.startIndex
    let names = essence[..<end].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard names.count == 2, names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isOfName) }) else {
      throw WireError(.contentTypeForm)
    }
    self.text = text
  }

  /// A `tchar` of RFC 9110 §5.6.2.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  public init(from reader: inout Reader) throws(WireError) {
    try self.init(try reader.text("content type", max: Limits.contentTypeBytesMax))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(text: text, max: Limits.contentTypeBytesMax)
  }
}
