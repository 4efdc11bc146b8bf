import Reactor
import Testing
import Web

/// Rings, with real clients.
@Suite(.serialized) struct FanoutTests {
  /// Every message says its number, so that a gap is seen, a change of order, and a byte that is not where it belongs.
  private static func message(_ number: Int, bytes count: Int) -> [UInt8] {
    let text = Array("\(number):".utf8)
    return text + (0..<max(0, count - text.count)).map { UInt8(truncatingIfNeeded: $0 &+ number) }
  }

  /// A frame as a server sends it.
  private static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
    SocketClient.bytes(opcode, payload, isMasked: false)
  }

  /// Pings would come between what is counted.
  private var limits: WebLimits {
    var limits = WebLimits()
    limits.pingInterval = .seconds(600)
    return limits
  }

  @Test(arguments: [10, 5_000, 70_000])
  func `a hundred clients hear everything in order, with sockets that take it in parts`(_ size: Int) throws {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let clients = try (0..<100).map { _ in try SocketClient(rig, "/ws/ring") }
    #expect(try rig.eventually { $0.ring.subscriberCount == 100 })
    let count = min(300, 300_000 / size)
    try rig.onHandler { handler in
      for number in 0..<count {
        Self.message(number, bytes: size).withUnsafeBytes { handler.ring.publish($0) }
        // Frames of its own come between, never within.
        if number % 7 == 0 { for talker in handler.sockets { talker.socket?.send("own \(number)") } }
      }
    }
    // Every client gets the very same bytes.
    var expected: [UInt8] = []
    for number in 0..<count {
      expected += Self.frame(2, Self.message(number, bytes: size))
      if number % 7 == 0 { expected += Self.frame(1, Array("own \(number)".utf8)) }
    }
    for client in clients { #expect(try client.client.receiveExactly(expected.count) == expected) }
    #expect(try rig.onHandler { $0.sockets.allSatisfy { $0.lagged == 0 } })
  }

  @Test func `a large message is shared by sockets that take it in parts`() throws {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let clients = try (0..<50).map { _ in try SocketClient(rig, "/ws/ring", receiveBuffer: 4_096) }
    #expect(try rig.eventually { $0.ring.subscriberCount == 50 })
    let messages = (0..<3).map { Self.message($0, bytes: 700_000) }
    let waiting = try rig.onHandler { handler in
      for (number, message) in messages.enumerated() {
        "before \(number)".utf8.withContiguousStorageIfAvailable {
          handler.ring.publish(UnsafeRawBufferPointer($0), .text)
        }
        handler.ring.publish(Pieces([Array(message[..<7]), Array(message[7...])]))
        for talker in handler.sockets { talker.socket?.send(reserved: [Pieces([message])], .binary) }
      }
      return handler.sockets.map { $0.socket?.queuedBytes ?? 0 }
    }
    // Own ones wait, and are shown to.
    #expect(waiting.allSatisfy { $0 >= 2_100_000 })
    // None of it is a socket's own memory.
    #expect(try rig.queuedBytes < 50 * 8_192)
    var expected: [UInt8] = []
    for (number, message) in messages.enumerated() {
      expected += Self.frame(1, Array("before \(number)".utf8)) + Self.frame(2, message) + Self.frame(2, message)
    }
    for client in clients { #expect(try client.client.receiveExactly(expected.count) == expected) }
    #expect(try rig.onHandler { $0.sockets.allSatisfy { $0.lagged == 0 } })
  }

  @Test func `each subscriber of numbered rings gets numbers of its own, whatever is for others`() throws {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let clients = try (0..<20).map { number in
      let client = try SocketClient(rig, "/ws/numbered", receiveBuffer: 4_096)
      #expect(try rig.eventually { $0.numbered[1].subscriberCount == number + 1 })
      return client
    }
    /// Every seventh message is a large one, which is not copied.
    func body(_ number: Int) -> [UInt8] { Self.message(number, bytes: number % 7 == 0 ? 70_000 : 300) }
    /// The recipients of each ring in turn: some, and all.
    func isFor(_ viewer: Int, _ number: Int) -> Bool { number % 4 != 0 || (viewer + number) % 3 == 0 }
    func kind(_ number: Int) -> MessageKind { number % 5 < 2 ? .binary : .text }
    try rig.onHandler { handler in
      for number in 1...60 {
        let some = Fanout.Listeners { isFor($0, number) }
        let recipients = number % 4 == 0 ? some : nil
        if number % 7 == 0 {
          handler.numbered[number % 2].publish(Pieces([body(number)]), kind(number), to: recipients)
        } else {
          body(number).withUnsafeBytes { handler.numbered[number % 2].publish($0, kind(number), to: recipients) }
        }
      }
    }
    for (viewer, client) in clients.enumerated() {
      var last = 8
      for number in 1...60 where isFor(viewer, number) {
        last += 1
        let frame = try client.receive()
        #expect(frame?.payload == Array("n\(viewer):\(last)".utf8) + body(number))
        #expect(frame?.opcode == (kind(number) == .text ? 1 : 2))
      }
    }
    #expect(try rig.onHandler { $0.sockets.allSatisfy { $0.lagged == 0 } })
  }

  @Test func `what is published at once is given to each client at once`() throws {
    let rig = try WebRig(limits)
    let clients = try (0..<3).map { _ in try SocketClient(rig, "/ws/ring") }
    #expect(try rig.eventually { $0.ring.subscriberCount == 3 })
    let before = try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } }
    try rig.onHandler { handler in
      for number in 0..<64 { Self.message(number, bytes: 300).withUnsafeBytes { handler.ring.publish($0) } }
    }
    for client in clients {
      for number in 0..<64 { #expect(try client.receive()?.payload == Self.message(number, bytes: 300)) }
    }
    #expect(try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } } == before.map { $0 + 1 })
  }

  @Test func `subscribers have their turns one after the other, and what is published meanwhile goes along`() throws {
    let rig = try WebRig(limits)
    let clients = try (0..<40).map { _ in try SocketClient(rig, "/ws/ring") }
    #expect(try rig.eventually { $0.ring.subscriberCount == 40 })
    let before = try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } }
    let messages = (0..<2).map { Self.message($0, bytes: 300) }
    try rig.onHandler { handler in
      messages[0].withUnsafeBytes { handler.ring.publish($0) }
      // The first sockets have already been offered the first message.
      handler.after(.zero) { messages[1].withUnsafeBytes { handler.ring.publish($0) } }
    }
    for client in clients { for message in messages { #expect(try client.receive()?.payload == message) } }
    let writes = try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } }
    #expect(zip(writes, before).map { $0 - $1 } == Array(repeating: 2, count: 8) + Array(repeating: 1, count: 32))
  }

  @Test func `whoever leaves or lags in the middle of a round costs nobody else their turn`() throws {
    let rig = try WebRig(limits)
    let clients = try (0..<40).map { _ in try SocketClient(rig, "/ws/ring") }
    #expect(try rig.eventually { $0.ring.subscriberCount == 40 })
    let message = Self.message(7, bytes: 300)
    try rig.onHandler { handler in
      message.withUnsafeBytes { handler.ring.publish($0) }
      // The first ten have been offered it by now; subscribers that have not take their places.
      handler.after(.zero) { for talker in handler.sockets.prefix(10) { talker.socket.map(handler.ring.unsubscribe) } }
    }
    for client in clients { #expect(try client.receive()?.payload == message) }
  }

  @Test func `whoever subscribes in the middle of a round costs nobody else their turn`() throws {
    let rig = try WebRig(limits)
    let others = try (0..<2).map { _ in try SocketClient(rig, "/ws/idle") }
    let clients = try (0..<20).map { _ in try SocketClient(rig, "/ws/ring") }
    #expect(try rig.eventually { $0.ring.subscriberCount == 20 && $0.sockets.count == 22 })
    // After a whole round the next turn is that of whoever comes first now.
    for number in 0..<2 {
      let message = Self.message(number, bytes: 300)
      try rig.onHandler { handler in
        message.withUnsafeBytes { handler.ring.publish($0) }
        handler.sockets[number].socket.map { handler.ring.subscribe($0) }
      }
      for client in clients + others[..<number] { #expect(try client.receive()?.payload == message) }
    }
  }

  @Test func `a paced ring gives what comes soon after the other together`() throws {
    let rig = try WebRig(limits)
    let clients = try (0..<40).map { _ in try SocketClient(rig, "/ws/paced") }
    #expect(try rig.eventually { $0.paced.subscriberCount == 40 })
    let before = try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } }
    let messages = (0..<200).map { Self.message($0, bytes: 300) }
    /// One in each turn of the loop: a round takes five.
    func publish(from number: Int, by handler: TestHandler) {
      if number == messages.count { return }
      messages[number].withUnsafeBytes { handler.paced.publish($0) }
      handler.after(.zero) { publish(from: number + 1, by: handler) }
    }
    try rig.onHandler { publish(from: 0, by: $0) }
    for client in clients { for message in messages { #expect(try client.receive()?.payload == message) } }
    let writes = try rig.onHandler { $0.sockets.compactMap { $0.socket?.writeCount } }
    let rounds = zip(writes, before).map { $0 - $1 }
    #expect(rounds.allSatisfy { (1...20).contains($0) }, "\(rounds)")
  }

  @Test func `a ring that drops its oldest goes before all that waits, and says in their place how many are gone`()
    throws
  {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let slow = try SocketClient(rig, "/ws/ring", receiveBuffer: 4_096)
    #expect(try rig.eventually { $0.ring.subscriberCount == 1 })
    try rig.onHandler { handler in
      for number in 0..<300 { Self.message(number, bytes: 10_000).withUnsafeBytes { handler.ring.publish($0) } }
      guard let socket = handler.sockets[0].socket else { return }
      socket.send("subscribed")
      handler.urgent.subscribe(socket)
    }
    // The socket's own message comes in order, after the 300; no urgent message precedes it.
    for number in 0..<300 { #expect(try slow.receive()?.payload == Self.message(number, bytes: 10_000)) }
    #expect(try slow.receive()?.payload == Array("subscribed".utf8))
    try rig.onHandler { handler in
      for number in 0..<300 { Self.message(number, bytes: 10_000).withUnsafeBytes { handler.ring.publish($0) } }
      for number in 0..<40 { Self.message(number, bytes: 20).withUnsafeBytes { handler.urgent.publish($0) } }
    }
    var place: [Int] = []
    var ordinary = 0
    var urgent: [[UInt8]] = []
    while ordinary + urgent.count < 309 {
      let payload = try #require(try slow.receive()).payload
      if payload.count == 10_000 {
        ordinary += 1
      } else {
        urgent.append(payload)
        place.append(ordinary)
      }
    }
    #expect(urgent == [Array("dropped 32 left 8".utf8)] + (32..<40).map { Self.message($0, bytes: 20) })
    #expect(place.allSatisfy { $0 < 250 }, "\(place)")
    #expect(try rig.onHandler { handler in handler.sockets[0].socket?.droppedCount(of: handler.urgent) } == 32)
    #expect(try rig.onHandler { $0.sockets[0].lagged } == 0)
  }

  @Test func `one that reads nothing is told that it lags, also when it is late, and the others hear on`() throws {
    var limits = limits
    limits.closingTime = .milliseconds(50)
    let rig = try WebRig(limits)
    let slow = try SocketClient(rig, "/ws/ring", receiveBuffer: 4_096)
    let quick = try SocketClient(rig, "/ws/ring")
    #expect(try rig.eventually { $0.ring.subscriberCount == 2 })
    for round in 0..<200 {
      if try rig.onHandler({ $0.sockets[0].lagged }) > 0 { break }
      try rig.onHandler { handler in
        for number in 0..<10 {
          Self.message(round * 10 + number, bytes: 10_000).withUnsafeBytes { handler.ring.publish($0) }
        }
      }
      for number in 0..<10 {
        try #require(try quick.receive()?.payload == Self.message(round * 10 + number, bytes: 10_000))
      }
    }
    #expect(try rig.onHandler { $0.sockets.map(\.lagged) } == [1, 0])
    #expect(try rig.onHandler(\.ring.subscriberCount) == 1)
    let late = Reactor.now + 200_000_000
    #expect(try rig.eventually { _ in Reactor.now > late })
    // The frame that was being sent is whole; the close frame follows.
    var last = try slow.receive()
    var heard = 0
    while let frame = last, frame.opcode == 2 {
      try #require(frame.payload == Self.message(heard, bytes: 10_000))
      heard += 1
      last = try slow.receive()
    }
    #expect(heard > 0 && last == .close(4_002, "too slow"))
  }

  @Test func `what was published before it left a ring still comes, and what came before it joined does not`() throws {
    let rig = try WebRig(limits)
    let client = try SocketClient(rig, "/ws/quiet")
    #expect(try rig.eventually { $0.sockets.last?.socket != nil })
    let other = try SocketClient(rig, "/ws/ring")
    #expect(try rig.eventually { $0.ring.subscriberCount == 1 })
    try rig.onHandler { handler in
      guard let socket = handler.sockets[0].socket else { return }
      for number in 0..<6 {
        if number == 2 { handler.ring.subscribe(socket) }
        if number == 4 { handler.ring.unsubscribe(socket) }
        Self.message(number, bytes: 20).withUnsafeBytes { handler.ring.publish($0) }
      }
      socket.send("end")
    }
    for number in 2..<4 { #expect(try client.receive()?.payload == Self.message(number, bytes: 20)) }
    #expect(try client.receive() == .text("end"))
    for number in 0..<6 { #expect(try other.receive()?.payload == Self.message(number, bytes: 20)) }
  }

  @Test func `a ring keeps what a subscriber has still to be sent, and nothing once all of them have it`() throws {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let slow = try SocketClient(rig, "/ws/ring", receiveBuffer: 4_096)
    let quick = try SocketClient(rig, "/ws/ring")
    #expect(try rig.eventually { $0.ring.subscriberCount == 2 })
    try rig.onHandler { handler in
      for number in 0..<30 { Self.message(number, bytes: 10_000).withUnsafeBytes { handler.ring.publish($0) } }
    }
    for number in 0..<30 { #expect(try quick.receive()?.payload == Self.message(number, bytes: 10_000)) }
    #expect(try rig.onHandler { $0.ring.keptBytes } > 100_000)
    for number in 0..<30 { #expect(try slow.receive()?.payload == Self.message(number, bytes: 10_000)) }
    try rig.onHandler { handler in Self.message(30, bytes: 20).withUnsafeBytes { handler.ring.publish($0) } }
    for client in [quick, slow] { #expect(try client.receive()?.payload == Self.message(30, bytes: 20)) }
    #expect(try rig.eventually { $0.ring.keptBytes == 0 })
  }

  @Test func `a socket that has left a ring is sent the rest of it, whatever the others have`() throws {
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let slow = try SocketClient(rig, "/ws/ring", receiveBuffer: 4_096)
    #expect(try rig.eventually { $0.ring.subscriberCount == 1 })
    let quick = try SocketClient(rig, "/ws/ring")
    #expect(try rig.eventually { $0.ring.subscriberCount == 2 })
    try rig.onHandler { handler in
      for number in 0..<30 { Self.message(number, bytes: 10_000).withUnsafeBytes { handler.ring.publish($0) } }
    }
    for number in 0..<30 { #expect(try quick.receive()?.payload == Self.message(number, bytes: 10_000)) }
    try rig.onHandler { handler in handler.sockets[0].socket.map(handler.ring.unsubscribe) }
    for number in 30..<40 {
      try rig.onHandler { handler in Self.message(number, bytes: 20).withUnsafeBytes { handler.ring.publish($0) } }
      #expect(try quick.receive()?.payload == Self.message(number, bytes: 20))
    }
    for number in 0..<30 { #expect(try slow.receive()?.payload == Self.message(number, bytes: 10_000)) }
  }
}
