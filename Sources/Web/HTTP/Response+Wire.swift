extension Response {
  /// The bytes of a whole response for a connection that ends with it; its body must be none or bytes.
  var closingBytes: [UInt8] {
    var content: [UInt8] = []
    switch body {
    case .none: break
    case .bytes(let bytes): content = bytes
    case .file, .source: preconditionFailure("a refusal's body is bytes")
    }
    var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\nConnection: close\r\nContent-Length: \(content.count)\r\n"
    for field in headers.fields where (field.name + field.value).utf8.allSatisfy(\.isValueByte) {
      head += "\(field.name): \(field.value)\r\n"
    }
    return Array((head + "\r\n").utf8) + content
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 421: "Misdirected Request"
    case 426: "Upgrade Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    // Clients ignore the reason phrase (RFC 9112 §4).
    default: "Refused"
    }
  }
}
