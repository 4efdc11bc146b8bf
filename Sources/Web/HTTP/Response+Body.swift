internal import CMicroHTTPD
internal import Reactor

extension Response {
  /// The response in the library's form; nil where a file has no free descriptor.
  func make(for exchange: Exchange?) -> OpaquePointer? {
    switch body {
    case .none:
      return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    case .bytes(let bytes):
      return bytes.withUnsafeBytes {
        MHD_create_response_from_buffer(
          $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .file(let part):
      if part.length == 0 { return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT) }
      // The library closes the descriptor that it is given.
      guard let file = try? part.file.duplicate() else { return nil }
      return MHD_create_response_from_fd_at_offset64(UInt64(part.length), file.release(), UInt64(part.offset))
    case .source(let source, let length):
      guard let exchange else { preconditionFailure("only an exchange has a source") }
      // The reference is released with the response.
      let context = Unmanaged.passRetained(SourceContext(source, exchange)).toOpaque()
      guard let length else {
        return CMicroHTTPD_response_of_unknown_size(Self.endlessBlockBytes, readSource, context, releaseSource)
      }
      return MHD_create_response_from_callback(UInt64(length), Self.blockBytes, readSource, context, releaseSource)
    }
  }

  /// The size of one read of a source whose length is known.
  private static let blockBytes = 64 << 10
  /// The same for an unknown length: the library needs it for clients of HTTP 1.0 alone, and keeps it as long as the
  /// response, which is as long as an event stream.
  private static let endlessBlockBytes = 4 << 10
}

private final class SourceContext {
  let source: any BodySource
  let exchange: Exchange

  init(_ source: any BodySource, _ exchange: Exchange) {
    self.source = source
    self.exchange = exchange
  }
}

private func readSource(
  _ context: UnsafeMutableRawPointer?, _: UInt64, _ room: UnsafeMutablePointer<CChar>?, _ count: Int
) -> Int {
  // It was retained for the response, which still exists.
  let context = Unmanaged<SourceContext>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  return context.exchange.pull(context.source, UnsafeMutableRawBufferPointer(start: room, count: count))
}

private func releaseSource(_ context: UnsafeMutableRawPointer?) {
  Unmanaged<SourceContext>.fromOpaque(context.unsafelyUnwrapped).release()
}
