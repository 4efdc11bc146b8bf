/// One request and its response.
///
/// It belongs to the server's thread. The server keeps it until the response is sent or the client has gone.
package final class Exchange {
  package let head: Head
  /// Called once where the client leaves before the whole response is sent; nothing more is told then, and what is
  /// asked of the exchange does nothing.
  package var onGone: (() -> Void)?

  init(_ head: Head) {
    self.head = head
  }

  /// Hands over the whole body once it is there. One of more bytes is refused (413), and one that ends early is a client
  /// that has gone: then `then` is not called.
  package func collectBody(bytesMax: Int, then: @escaping ([UInt8]) -> Void) {
    fatalError("not yet")
  }

  /// Hands over the body as it comes, up to `bytesMax`; one of more bytes is refused (413), which the sink hears as gone.
  package func readBody(bytesMax: Int, into sink: any BodySink) {
    fatalError("not yet")
  }

  /// The sink takes more: what it left is offered again.
  package func resume() {
    fatalError("not yet")
  }

  /// Once for each exchange, now or later. What is left of the request's body is thrown away.
  package func respond(_ response: Response) {
    fatalError("not yet")
  }

  /// The response's source has more, or is at its end.
  package func wake() {
    fatalError("not yet")
  }
}

/// Takes a request's body as it comes.
package protocol BodySink: AnyObject {
  /// Says how many of the bytes it took. Where it did not take all, nothing more comes until `Exchange.resume()`: the
  /// client is held back.
  func take(_ bytes: UnsafeRawBufferPointer, from exchange: Exchange) -> Int

  /// That was all.
  func finished(_ exchange: Exchange)
}
