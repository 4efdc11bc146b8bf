import Engine
import Wire

/// A medium that led from one host to another until then.
struct MediumLoss {
  var at: Int64
  var medium: Int
  var hosts: Set<Int>
}

/// Several media: a pair that any of them joins stays connected, and its link does not change without a reason.
extension Model {
  /// A medium that has led from one host to another for so long has a link, in use or on standby: dials are repeated
  /// within 10 s, and the higher host waits for the lower.
  static let mediumSettles: Int64 = 20_000_000_000
  /// How long a medium without probes shows a host that is gone.
  static let unprobedRecordLife: Int64 = 12_000_000_000
  /// Changes between two hosts while their media stay as they are: the link is noticed to be dead, each better medium
  /// is taken, and the two choices cross.
  private static let changesMax = 4
  /// Unreliable messages from before and after a loss may be lost with it.
  private static let lossBefore: Int64 = 1_000_000_000
  private static let lossAfter: Int64 = 4_500_000_000

  /// A medium was lost or came back between two hosts.
  func mediaChanged(_ a: Int, _ b: Int) {
    for (from, to) in [(a, b), (b, a)] { mediumChanges[from * plan.hosts.count + to] = 0 }
  }

  /// One host's bond to another changed its medium.
  func changedMedium(_ here: Int, _ there: Int) {
    let place = here * plan.hosts.count + there
    mediumChanges[place, default: 0] += 1
    check(.mediaDoNotFlap, mediumChanges[place, default: 0] <= Self.changesMax) {
      "h\(here) has changed its medium to h\(there) \(mediumChanges[place, default: 0]) times since the media changed"
    }
  }

  /// A pair is suspended only where no medium joins its hosts.
  func checkMedia(_ here: EndpointRecord, _ remote: EndpointID, _ pair: PairRecord, _ world: World) {
    guard !plan.media.isEmpty, let there = endpoints[remote] else { return }
    // One of the two media leads to the other host at any time, and both hosts know.
    check(.aMediumIsEnough, plan.scenario != .walkAway) { "\(here.label): \(there.label) is suspended on the walk" }
    let (a, b) = (here.ref.host, there.ref.host)
    let since = now - Self.mediumSettles
    guard a != b, pair.since <= since, cameUpAt[a] <= since, cameUpAt[b] <= since, isHostUp[a], isHostUp[b],
      !isMalicious[b], isHonestRelay(a), isHonestRelay(b)
    else { return }
    check(.aMediumIsEnough, !world.hasLastingWay(a, b)) {
      "\(here.label): \(there.label) is suspended, and a medium joins their hosts"
    }
  }

  /// A message is late by a handover at most.
  func checkHandover(_ message: SentMessage, _ number: Int, _ here: EndpointRecord) {
    guard let handoverMax = plan.handoverMax, message.sending.mode == .reliable else { return }
    let delay = now - message.at
    check(.handoversAreQuick, delay <= handoverMax) {
      "\(here.label) received #\(number) after \(delay / 1_000_000) ms, where \(handoverMax / 1_000_000) are enough"
    }
  }

  /// No unreliable message is lost when a better medium is taken.
  func checkUnreliable() {
    guard plan.losesNothingUnreliable else { return }
    for (number, message) in messages.enumerated() where message.sending.mode == .unreliable {
      for (place, recipient) in message.to.enumerated() where message.receivedIn[place] == 0 {
        guard let there = endpoints[recipient]?.ref.host else { continue }
        let isExcused = losses.contains { loss in
          loss.hosts == [message.host, there]
            && (loss.at - Self.lossBefore...loss.at + Self.lossAfter).contains(message.at)
        }
        check(.upgradesDropNothing, isExcused) {
          "#\(number) of \(label(message.from)), unreliable, was lost, and no medium was lost then"
        }
      }
    }
  }
}
