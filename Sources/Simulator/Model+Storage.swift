import Engine
import Wire

/// Events and calls of a durable host since its last stored batch, which a crash undoes.
enum Unstored {
  case send(message: Int)
  case receipt(message: Int, Int)
  case deliveryStatus(message: Int, Int)
  case joining(invitation: Int)
  case leave(EndpointID)
  case choice(EndpointID, before: EndpointRecord.Choices)
  case offer(resource: Int)
  case shown(resource: Int)
  case stored(resource: Int, through: UInt64)
  case end(resource: Int, isSenders: Bool)
  case answer(Refusing, before: Answers)
  case left(EndpointID, member: EndpointID, leavesMet: Int)
}

/// The stored state of hosts, and the effects of a crash.
extension Model {
  func awaitsStore(_ what: Unstored, at host: Int) {
    if plan.hosts[host].isDurable { unstored[host].append((what, .max)) }
  }

  /// Earlier events are in this batch.
  func persists(_ host: SimHost, _ batch: UInt64) {
    for place in unstored[host.index].indices where unstored[host.index][place].batch == .max {
      unstored[host.index][place].batch = batch
    }
  }

  func stored(_ host: SimHost, _ batch: UInt64) {
    unstored[host.index].removeAll { item in
      guard item.batch <= batch else { return false }
      if case .stored(let number, let offset) = item.what {
        resources[number].kept = max(resources[number].kept, offset)
      }
      return true
    }
  }

  func forgetUnstored(_ host: SimHost) {
    for item in unstored[host.index].reversed() { forget(item.what) }
    unstored[host.index] = []
  }

  private func forget(_ what: Unstored) {
    switch what {
    case .send(let message): messages[message].isForgotten = true
    case .receipt(let message, let place):
      messages[message].receivedIn[place] = 0
      messages[message].wasForgotten[place] = true
    // It comes again, and perhaps otherwise.
    case .deliveryStatus(let message, let place): messages[message].statuses[place] = nil
    case .joining(let invitation): forgets(invitation)
    // The endpoint that left is back, and nobody else had learned of its leave.
    case .leave(let endpoint):
      endpoints[endpoint]?.leaves -= 1
      endpoints[endpoint]?.leftAt = 0
    case .choice(let endpoint, let before): endpoints[endpoint]?.choices = before
    case .answer(let refusing, let before): forget(refusing, before)
    case .left(let endpoint, let member, let met): endpoints[endpoint]?.metBefore[member] = met
    case .offer(let number): resources[number].isForgotten = true
    case .shown(let number): resources[number].receiver.run = 0
    // The file has it, and it comes again.
    case .stored: break
    case .end(let number, true): resources[number].sender.ended = nil
    case .end(let number, false): resources[number].receiver.ended = nil
    }
  }
}
