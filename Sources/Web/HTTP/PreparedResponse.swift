internal import CMicroHTTPD

/// A response in the library's form. One with a small body in memory can be used again, since repeated requests mostly
/// get the same response.
final class PreparedResponse {
  private let response: Response
  let handle: OpaquePointer
  private var closes = false
  /// The second of its date.
  private var datedAt: Int?

  /// Limit for a response that an idle connection keeps.
  private static let keptBytesMax = 4 << 10

  /// Nil where a file has no free descriptor.
  init?(_ response: Response, for exchange: Exchange?) {
    guard let handle = response.make(for: exchange) else { return nil }
    self.response = response
    self.handle = handle
    for field in response.headers.fields {
      // The library takes no value that has a line feed: such a header is left out.
      _ = field.name.withCString { name in field.value.withCString { MHD_add_response_header(handle, name, $0) } }
    }
  }

  deinit {
    MHD_destroy_response(handle)
  }

  /// Sets the date. The library adds one to each response that has none; a new date replaces the old one.
  func date(_ date: DateHeader) {
    if datedAt == date.second { return }
    datedAt = date.second
    MHD_add_response_header(handle, "Date", date.text)
  }

  /// Makes the connection end after this response.
  func close() {
    if !closes { MHD_add_response_header(handle, "Connection", "close") }
    closes = true
  }

  var isReusable: Bool {
    switch response.body {
    case .none: true
    case .bytes(let bytes): bytes.count <= Self.keptBytesMax
    case .file, .source: false
    }
  }

  /// Whether the two responses are identical; bodies are only the same where they share storage.
  func isSame(as other: Response) -> Bool {
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
  /// Whether both arrays share storage: while one is held, its storage cannot be reused for another.
  package func isSamePlace(as other: [UInt8]) -> Bool {
    withUnsafeBytes { one in other.withUnsafeBytes { one.count == $0.count && one.baseAddress == $0.baseAddress } }
  }
}
