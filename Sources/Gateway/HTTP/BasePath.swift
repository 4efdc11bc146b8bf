internal import Web

/// The path below which clients find a gateway that shares its host, such as `/vicinity`; empty at the root.
///
/// Invariant: routes, and paths in bodies and frames, do not contain it. It is removed where a request comes in, and
/// put before what a client resolves by itself: the header fields `Location` and `Link`, cookies, URLs that are shown,
/// the gateway's own pages and the contract's `servers`. A request without it comes from a proxy that has removed it.
struct BasePath: Sendable {
  static let bytesMax = 128
  /// The first segments of the gateway's own paths: with one of these as base path, nobody could say whether a proxy
  /// has removed it from a request.
  private static let routes = Set(Routes.all.map { $0.pattern.split(separator: "/").first.map(String.init) ?? "" })

  /// The path without a slash at its end.
  let text: String
  private let segments: [String]

  /// Nil where the text is no base path. One slash at its end is ignored.
  init?(_ text: String) {
    guard text.utf8.count <= Self.bytesMax else { return nil }
    let path = text.hasSuffix("/") ? String(text.dropLast()) : text
    guard !path.isEmpty else {
      (self.text, segments) = ("", [])
      return
    }
    guard path.hasPrefix("/") else { return nil }
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    guard segments.allSatisfy(Self.isSegment), !Self.routes.contains(segments[0]) else { return nil }
    (self.text, self.segments) = (path, segments)
  }

  /// A segment has one spelling only, since proxies and browsers compare it byte by byte.
  private static func isSegment(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text == Percent.encode(text)
  }

  var first: String? { segments.first }

  /// The head with its path as routes know it.
  func read(_ head: Head) -> Head {
    guard !text.isEmpty else { return head }
    guard head.path.starts(with: segments) else { return Head(head, path: head.path, below: text) }
    let rest = Array(head.path.dropFirst(segments.count))
    return Head(head, path: rest == [""] ? [] : rest, below: text)
  }

  /// The redirection to the same path with a slash at its end, so that a page's relative links resolve below it.
  func redirection(of head: Head) -> Response? {
    guard !text.isEmpty, head.path.isEmpty, head.method == .get || head.method == .head else { return nil }
    let path = head.target.prefix { $0 != "?" }
    if path.hasSuffix("/") { return nil }
    var response = Response(308)
    response.headers.append("Location", "\(text)/\(head.target[path.endIndex...])")
    return response
  }

  /// The value of a header field as clients resolve it.
  func value(of field: Problem.Field) -> String {
    switch field.name {
    case _ where text.isEmpty: field.value
    case "Location": text + field.value
    case "Link": "<\(text)\(field.value.dropFirst())"
    default: field.value
    }
  }
}
