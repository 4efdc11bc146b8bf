/// A client's request for a WebSocket that was granted.
struct SocketGrant {
  let head: Head
  let subprotocol: String?
  let owner: any SocketOwner
  let reading: SocketReading

  init(_ head: Head, _ subprotocol: String?, _ owner: any SocketOwner, _ reading: SocketReading) {
    precondition(
      subprotocol.map { head.subprotocols.contains($0) } ?? true, "a subprotocol is chosen that was not offered")
    self.head = head
    self.subprotocol = subprotocol
    self.owner = owner
    self.reading = reading
  }

  /// The headers of the response beside `Connection: Upgrade`.
  var headers: Headers {
    var headers = Headers()
    headers.append("Upgrade", "websocket")
    headers.append("Sec-WebSocket-Accept", head.acceptedKey)
    if let subprotocol { headers.append("Sec-WebSocket-Protocol", subprotocol) }
    return headers
  }

  /// The whole response.
  var bytes: [UInt8] {
    let fields = headers.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\(fields)\r\n".utf8)
  }
}
