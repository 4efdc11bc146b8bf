import Engine
import Wire

/// Limits on the effect of large transfers on others.
extension Model {
  /// A message waits for the bytes in the pipe and the rest of one chunk if traffic is the only disturbance.
  func checkDelay(_ message: SentMessage, _ number: Int, _ here: EndpointRecord) {
    guard let delayMax = plan.delayMax else { return }
    let delay = now - message.at
    check(.messagesPassBulk, delay <= delayMax) {
      "\(here.label) received #\(number) after \(delay / 1_000_000) ms, where \(delayMax / 1_000_000) are enough"
    }
  }

  /// Fairness: between two hosts, a transfer that is always ready gets its share, however many others there are: since
  /// it was accepted, it should have come at least a third as far as all of another endpoint's together.
  func sharesAreFair(after number: Int) {
    let done = resources[number]
    guard plan.delayMax != nil else { return }
    for place in openResources {
      let other = resources[place]
      guard other.sender.host == done.sender.host, other.receiver.host == done.receiver.host,
        other.sender.endpoint != done.sender.endpoint, other.next < other.size, other.causes.isEmpty,
        let acceptedAt = other.acceptedAt
      else { continue }
      let all = resources.reduce(UInt64(0)) { sum, one in
        let isSince = one.acceptedAt.map { $0 >= acceptedAt } ?? false
        return isSince && one.sender.endpoint == done.sender.endpoint && one.receiver.host == done.receiver.host
          ? sum + one.next : sum
      }
      check(.sharesAreFair, other.next * 3 + UInt64(4 * Limits.chunkBytes) >= all) {
        "\(words(other)) has \(other.next) bytes, and \(label(done.sender.endpoint)) sent \(all) since it was accepted"
      }
    }
  }
}
