internal import CMicroHTTPD

/// A response as the library takes it. One with a small body in memory may be given again: who asks for the same again
/// and again is mostly told the same.
final class Answer {
  private let response: Response
  let made: OpaquePointer
  private var closes = false
  /// The second of its date.
  private var datedAt: Int?

  /// An idle connection keeps so much.
  private static let keptBytesMax = 4 << 10

  /// Nil where a file has no descriptor to spare.
  init?(_ response: Response, for exchange: Exchange?) {
    guard let made = response.make(for: exchange) else { return nil }
    self.response = response
    self.made = made
    for field in response.headers.fields {
      // It takes no value with a line's end in it: such a header is left out.
      _ = field.name.withCString { name in field.value.withCString { MHD_add_response_header(made, name, $0) } }
    }
  }

  deinit {
    MHD_destroy_response(made)
  }

  /// The library writes a date anew for each answer that has none, and takes a new one in the place of an old one.
  func date(_ date: DateHeader) {
    if datedAt == date.second { return }
    datedAt = date.second
    MHD_add_response_header(made, "Date", date.text)
  }

  /// The connection ends after it.
  func close() {
    if !closes { MHD_add_response_header(made, "Connection", "close") }
    closes = true
  }

  var isReusable: Bool {
    switch response.body {
    case .none: true
    case .bytes(let bytes): bytes.count <= Self.keptBytesMax
    case .file, .source: false
    }
  }

  /// Whether it is the same to the last byte; of bodies only those are the same that lie in the same place.
  func says(_ other: Response) -> Bool {
    guard !closes, response.status == other.status, response.headers.fields == other.headers.fields else {
      return false
    }
    switch (response.body, other.body) {
    case (.none, .none): return true
    case (.bytes(let one), .bytes(let other)): return one.isSamePlace(as: other)
    default: return false
    }
  }
}

extension [UInt8] {
  /// Whether both are one array: what is held cannot have become another in its place.
  package func isSamePlace(as other: [UInt8]) -> Bool {
    withUnsafeBytes { one in other.withUnsafeBytes { one.count == $0.count && one.baseAddress == $0.baseAddress } }
  }
}
