internal import Wire

/// A server's description of the content that it is about to send.
public struct WebContent: Hashable, Sendable {
  public let url: WebURL
  /// A safe file name: one part of a path, without invisible characters.
  public let name: String
  /// A media type without parameters; nil where the server gave no valid one.
  public let type: String?
  /// The size of all of it; nil where the server does not say.
  public let size: UInt64?
  /// The offset of the bytes that come now: 0 where a resumed fetch begins anew, since the content has changed.
  public let offset: UInt64
  /// The validator for a later resumption; nil where the server gives no strong one.
  public let version: String?
}

extension WebContent {
  init(_ head: ResponseHead, at url: WebURL, size: UInt64?, offset: UInt64) {
    self.url = url
    self.size = size
    self.offset = offset
    let given = head.value("content-disposition").flatMap(fileName(inDisposition:))
    let last = url.path.split(separator: "/").last.flatMap { unescaped($0) }
    name = given.flatMap(safeName) ?? last.flatMap(safeName) ?? "download"
    type = head.value("content-type").flatMap(mediaType)
    version = head.value("etag").flatMap { isStrongTag($0) ? $0 : nil }
  }
}

/// Only a strong entity tag identifies the same bytes; it must be harmless in a request.
func isStrongTag(_ tag: String) -> Bool {
  tag.utf8.count <= 256 && tag.utf8.count >= 2 && tag.first == "\"" && tag.last == "\""
    && tag.utf8.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
}

private func mediaType(_ value: String) -> String? {
  let type = value.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
  let parts = type.split(separator: "/", omittingEmptySubsequences: false)
  guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isToken) }),
    type.utf8.count <= Limits.resourceTypeBytesMax
  else { return nil }
  return type
}

// MARK: Names

/// The name in `attachment; filename="…"; filename*=UTF-8''…` (RFC 6266), the second form rather than the first.
private func fileName(inDisposition value: String) -> String? {
  let parameters = parameters(of: value)
  if let extended = parameters["filename*"] {
    let parts = extended.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    if parts.count == 3, parts[0].lowercased() == "utf-8", let name = unescaped(parts[2]) { return name }
  }
  return parameters["filename"]
}

private func parameters(of value: String) -> [String: String] {
  var found: [String: String] = [:]
  var rest = value[...].drop { $0 != ";" }
  while rest.popFirst() != nil {
    let name = rest.prefix { $0 != "=" && $0 != ";" }
    rest = rest[name.endIndex...]
    guard rest.first == "=" else { continue }
    rest = rest.dropFirst()
    var text = ""
    if rest.first == "\"" {
      rest = rest.dropFirst()
      while let character = rest.popFirst(), character != "\"" {
        if character == "\\", let next = rest.popFirst() { text.append(next) } else { text.append(character) }
      }
      rest = rest.drop { $0 != ";" }
    } else {
      text = String(rest.prefix { $0 != ";" })
      rest = rest.drop { $0 != ";" }
    }
    let key = name.filter { $0 != " " && $0 != "\t" }.lowercased()
    if found[key] == nil { found[key] = text }
  }
  return found
}

/// Percent-decoded; nil where the bytes are no text.
func unescaped(_ text: Substring) -> String? {
  var bytes: [UInt8] = []
  var rest = text.utf8[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      bytes.append(byte)
      continue
    }
    let digits = rest.prefix(2)
    guard digits.count == 2, digits.allSatisfy(\.isHexadecimal), let escaped = UInt8(Substring(digits), radix: 16)
    else {
      return nil
    }
    bytes.append(escaped)
    rest = rest.dropFirst(2)
  }
  return String(validating: bytes, as: UTF8.self)
}

/// One part of a path that no system takes for anything else, no longer than a file's name can be, without misleading
/// characters; nil where nothing is left.
private func safeName(_ text: String) -> String? {
  let last = text.split { $0 == "/" || $0 == "\\" }.last ?? ""
  let shown = last.unicodeScalars.filter { scalar in
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: true
    }
  }
  let harmless = String(String.UnicodeScalarView(shown)).map { "<>:\"|?*".contains($0) ? "_" : $0 }
  // A leading dot would hide it, or make it the folder itself, and commands take a leading hyphen for an option; others
  // cut dots and spaces off an end.
  let isEdge = { (character: Character) in character == "." || character.isWhitespace }
  let trimmed = String(
    harmless.drop { isEdge($0) || $0 == "-" }.reversed().drop(while: isEdge).reversed())
  return trimmed.isEmpty ? nil : shortened(trimmed)
}

/// Shortens the stem rather than the extension, which shows the type.
private func shortened(_ name: String) -> String {
  let bytesMax = Limits.resourceNameBytesMax
  if name.utf8.count <= bytesMax { return name }
  let dot = name.lastIndex(of: ".").flatMap { name[$0...].utf8.count <= 32 ? $0 : nil } ?? name.endIndex
  var stem = name[..<dot]
  while stem.utf8.count + name[dot...].utf8.count > bytesMax { stem.removeLast() }
  return String(stem + name[dot...])
}
