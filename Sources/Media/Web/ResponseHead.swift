/// The status and the fields of a response (RFC 9112), within limits.
struct ResponseHead {
  /// Servers that set many cookies come near a quarter of this.
  static let bytesMax = 32 << 10
  static let fieldsMax = 128

  enum Fault: Error {
    case tooLong
    case malformed(String)
  }

  let status: Int
  private var fields: [(name: String, value: String)] = []

  /// Takes the head from the front of the input; nil while it is incomplete. `searched` is how much of that was
  /// searched before: a server that sends byte by byte must not cost more than others.
  static func taken(from input: inout ArraySlice<UInt8>, searched: inout Int) throws(Fault) -> ResponseHead? {
    guard let end = end(of: input, searched: searched) else {
      searched = input.count
      if input.count >= bytesMax { throw .tooLong }
      return nil
    }
    if end - input.startIndex > bytesMax { throw .tooLong }
    let head = try ResponseHead(lines: lines(of: input[..<end]))
    input = input[end...]
    searched = 0
    return head
  }

  /// The position behind the empty line. A line ends with LF, most often after CR.
  private static func end(of input: ArraySlice<UInt8>, searched: Int) -> Int? {
    func isLineStart(_ place: Int) -> Bool { place == input.startIndex || input[place - 1] == newline }
    for place in (input.startIndex + searched)..<input.endIndex where input[place] == newline {
      if isLineStart(place) || input[place - 1] == carriageReturn && isLineStart(place - 1) { return place + 1 }
    }
    return nil
  }

  private static func lines(of head: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    head.split(separator: newline).map { $0.last == carriageReturn ? $0.dropLast() : $0 }.filter { !$0.isEmpty }
  }

  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private init(lines: [ArraySlice<UInt8>]) throws(Fault) {
    guard let first = lines.first else { throw .malformed("an empty head") }
    status = try Self.status(of: first)
    if lines.count - 1 > Self.fieldsMax { throw .tooLong }
    for line in lines.dropFirst() { fields.append(try Self.field(line)) }
  }

  private static func status(of line: ArraySlice<UInt8>) throws(Fault) -> Int {
    let parts = line.split(separator: 0x20, maxSplits: 2)
    guard let version = parts.first, version.count == 8, version.starts(with: "HTTP/1.".utf8),
      version.last?.isDigit == true,
      parts.count >= 2, parts[1].count == 3, parts[1].allSatisfy(\.isDigit), let status = Int(text(parts[1])),
      status >= 100
    else { throw .malformed("no status line of HTTP/1") }
    return status
  }

  private static func field(_ line: ArraySlice<UInt8>) throws(Fault) -> (String, String) {
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    let value = line[name.endIndex...].dropFirst()
    // No folded lines, no space before the colon: each has been used for request smuggling.
    guard !name.isEmpty, name.endIndex != line.endIndex, name.allSatisfy(\.isToken) else {
      throw .malformed("a line that is no field")
    }
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw .malformed("a control character in a field")
    }
    let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let trimmed = value.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    return (text(name).lowercased(), text(trimmed))
  }

  private static func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  // MARK: Asking

  /// All values of a field, by its name in lower case.
  func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

  /// The value of a field that stands once; nil where there is none, or several.
  func value(_ name: String) -> String? {
    let values = values(name)
    return values.count == 1 ? values[0] : nil
  }
}
