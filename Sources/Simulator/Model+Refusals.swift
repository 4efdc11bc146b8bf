import Engine
import Wire

/// A peer's person, and the session that invites it.
struct Refusing: Hashable {
  var guest: PeerID
  var inviter: EndpointID
}

/// A person's answers to a session's invitations, and those that ran out.
struct Answers {
  var hasDeclined = false
  /// Whether a no was said that has not been taken back: one of the two engines may hold to it though it is forgotten.
  var mayStand = false
  var ranOut = 0
  var ranOutAt: Int64 = 0
}

/// An invitation by ad hoc mode that a person was shown.
struct Asking {
  var inviter: EndpointRecord
  var guest: PeerID
}

/// A person's refusals, and the failures that are reported to the sessions of inviters.
extension Model {
  /// How long ad hoc mode waits after no answer; its clock may be a little ahead.
  private static let pause: Int64 = 55_000_000_000

  func asks(_ id: InvitationID, _ inviter: EndpointRecord, _ guest: PeerID, at host: SimHost) {
    let answers = answers[Refusing(guest: guest, inviter: inviter.id)] ?? Answers()
    let word = "\(label(guest)) is asked again by the ad hoc mode of \(inviter.label)"
    check(.noStands, !answers.hasDeclined) { word + ", to which it said no" }
    check(.noStands, answers.ranOut < 2) { word + ", to which it gave no answer \(answers.ranOut) times" }
    check(.noStands, answers.ranOut == 0 || now - answers.ranOutAt > Self.pause) {
      word + " \((now - answers.ranOutAt) / 1_000_000) ms after it gave no answer"
    }
    askings[OfHost(host: host.index, run: host.run, id: id)] = Asking(inviter: inviter, guest: guest)
  }

  /// By a person who was shown the invitation.
  func answered(_ reason: Reason, _ refusing: Refusing, at host: SimHost) {
    awaitsStore(.answer(refusing, before: answers[refusing] ?? Answers()), at: host.index)
    switch reason {
    case .none: answers[refusing] = nil
    case .declined:
      answers[refusing, default: Answers()].hasDeclined = true
      answers[refusing]?.mayStand = true
    case .timedOut:
      answers[refusing, default: Answers()].ranOut += 1
      answers[refusing]?.ranOutAt = now
    default: break
    }
  }

  /// A crash has taken an answer.
  func forget(_ refusing: Refusing, _ before: Answers) {
    let mayStand = answers[refusing]?.mayStand ?? false
    answers[refusing] = before
    answers[refusing]?.mayStand = before.mayStand || mayStand
  }

  /// The host came up without its people's answers.
  func forgetAnswers(at host: Int) {
    for (refusing, before) in answers where peerPlaces[refusing.guest].map({ peers[$0].ref.host }) == host {
      answers[refusing] = Answers(mayStand: before.mayStand)
    }
  }

  /// An own invitation takes back an earlier no to that peer.
  func meetsByHand(_ invitation: InvitationRecord, at host: SimHost) {
    guard let inviting = endpoints[invitation.endpoint] else { return }
    for other in order where other.peer == invitation.guest {
      let refusing = Refusing(guest: inviting.peer, inviter: other.id)
      guard let before = answers.removeValue(forKey: refusing) else { continue }
      awaitsStore(.answer(refusing, before: before), at: host.index)
    }
  }

  // MARK: Failures

  /// An own invitation failed: its session gets a report next, unless the peer is a member by another way or the
  /// session left. Endpoints that a liar has claimed there are unknown.
  func expectFailure(of number: Int, _ reason: Reason, at host: SimHost) {
    let invitation = invitations[number]
    guard reason != .none, reason != .already, let record = endpoints[invitation.endpoint], record.isOpen,
      record.leaves == invitation.leaves, !isMember(invitation.guest, of: record),
      let guest = peerPlaces[invitation.guest], !isMalicious[peers[guest].ref.host]
    else { return }
    unreportedFailures[host.index] = number
  }

  private func isMember(_ peer: PeerID, of record: EndpointRecord) -> Bool {
    record.pairOrder.contains { endpoint in
      guard endpoints[endpoint]?.peer == peer else { return false }
      return record.pairs[endpoint]?.state == .connecting || record.pairs[endpoint]?.state == .connected
    }
  }

  func checkFailureIsReported(by output: Output, at host: SimHost) {
    if case .inviteeNotConnected(let invitee, _, let local) = output, let record = endpoints[local] {
      let isConnected = record.pairOrder.contains {
        endpoints[$0]?.peer == invitee.peer && record.pairs[$0]?.state == .connected
      }
      check(.failuresAreReported, !isConnected) {
        "\(record.label) is told that \(label(invitee.peer)) is not connected, which it is"
      }
    }
    guard let number = unreportedFailures.removeValue(forKey: host.index) else { return }
    let (guest, endpoint) = (invitations[number].guest, invitations[number].endpoint)
    var isTold = false
    if case .inviteeNotConnected(let invitee, _, let local) = output {
      isTold = invitee.peer == guest && local == endpoint
    }
    check(.failuresAreReported, isTold) {
      "\(label(endpoint)) is not told that its invitation of \(label(guest)) failed"
    }
  }
}
