/// Fault injection: each switch breaks one rule of the engine, to prove that the simulator would notice.
///
/// Only this package can set them, and only the simulator's canary does.
package struct Sabotage: OptionSet, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// After a link loss all records that are still held are sent and taken again.
  package static let repeatsRecords = Sabotage(rawValue: 1 << 0)
  /// After a link loss one record that the other side lacks is skipped.
  package static let losesRecord = Sabotage(rawValue: 1 << 1)
  /// Undelivered messages are not reported.
  package static let forgetsUndelivered = Sabotage(rawValue: 1 << 2)
  /// A message for some members is delivered to all.
  package static let tellsEveryone = Sabotage(rawValue: 1 << 3)
  /// Encryption preferences are not compared.
  package static let ignoresEncryption = Sabotage(rawValue: 1 << 4)
  /// A carrier statement's signature is not checked.
  package static let believesCarriers = Sabotage(rawValue: 1 << 5)
  /// An introduction's signature and its introducer's membership are not checked.
  package static let believesIntroductions = Sabotage(rawValue: 1 << 6)
  /// The silence of a host is not noticed.
  package static let neverSilent = Sabotage(rawValue: 1 << 7)
  /// An invitation from a peer that is already connected starts anew and ends the pair.
  package static let mutualInvitationFault = Sabotage(rawValue: 1 << 8)
  /// Invitations do not time out.
  package static let waitsForever = Sabotage(rawValue: 1 << 9)
  /// A removed member comes back by the next introduction.
  package static let readmitsRemoved = Sabotage(rawValue: 1 << 10)
  /// Records are acknowledged before they are stored.
  package static let acknowledgesUnstored = Sabotage(rawValue: 1 << 11)
  /// Membership is announced only to the inviter: nobody is introduced.
  package static let introducesNobody = Sabotage(rawValue: 1 << 12)
  /// A pair is reported connected once it is admitted here, whatever the other side says.
  package static let connectsOneSided = Sabotage(rawValue: 1 << 13)
  /// A leave is not sent to the others.
  package static let leavesInSilence = Sabotage(rawValue: 1 << 14)
  /// The limit on members is not checked.
  package static let overfills = Sabotage(rawValue: 1 << 15)
  /// An endpoint that left may be introduced again.
  package static let raisesTheDead = Sabotage(rawValue: 1 << 16)
  /// The backlog for a slow host has no limit.
  package static let hoards = Sabotage(rawValue: 1 << 17)
  /// A restored backup's old positions are believed.
  package static let believesBackups = Sabotage(rawValue: 1 << 18)
  /// Found peers that vanish are not reported lost.
  package static let keepsGhosts = Sabotage(rawValue: 1 << 19)
  /// A stream's credit is not enforced.
  package static let ignoresCredit = Sabotage(rawValue: 1 << 20)
  /// On a new link a stream resumes one byte too late.
  package static let forgetsStreamBytes = Sabotage(rawValue: 1 << 21)
  /// A stream ends when its end arrives, whatever bytes are in flight.
  package static let endsStreamEarly = Sabotage(rawValue: 1 << 22)
  /// A reader grants more than it has room for.
  package static let overgrants = Sabotage(rawValue: 1 << 23)
  /// A writer that was refused is not notified of room.
  package static let forgetsWriters = Sabotage(rawValue: 1 << 24)
  /// A cancelled stream or resource is not reported to the other side.
  package static let forgetsCancel = Sabotage(rawValue: 1 << 25)
  /// On a new link a resource begins from its start.
  package static let startsResourcesAnew = Sabotage(rawValue: 1 << 26)
  /// The stored part of a resource is forgotten in a restart.
  package static let forgetsStored = Sabotage(rawValue: 1 << 27)
  /// A damaged chunk is not requested again.
  package static let ignoresDamage = Sabotage(rawValue: 1 << 28)
  /// A resource's root is not compared.
  package static let skipsRootCheck = Sabotage(rawValue: 1 << 29)
  /// A resource ends here, and again when the other side has acknowledged the end.
  package static let endsResourceTwice = Sabotage(rawValue: 1 << 30)
  /// An endpoint with several resources sends of all of them before another endpoint gets a turn.
  package static let starvesPeers = Sabotage(rawValue: 1 << 31)
  /// Streams and resources go before messages.
  package static let delaysMessages = Sabotage(rawValue: 1 << 32)
  /// Datagrams keep the path of the link's opening.
  package static let keepsDatagramWay = Sabotage(rawValue: 1 << 33)
  /// A silent host is probed no sooner than one that answers.
  package static let probesAtLeisure = Sabotage(rawValue: 1 << 34)
  /// An endpoint that waits for one peer's endpoint admits any that asks for it.
  package static let connectsAnybody = Sabotage(rawValue: 1 << 35)
  /// A new link does not report who is away.
  package static let forgetsAwayPeers = Sabotage(rawValue: 1 << 36)
  /// Ad hoc mode asks again after a no.
  package static let asksAgain = Sabotage(rawValue: 1 << 37)
  /// The session of an inviter gets no report that its invitation failed.
  package static let hidesFailures = Sabotage(rawValue: 1 << 38)
  /// The refusals of people are lost in a restart.
  package static let forgetsAnswers = Sabotage(rawValue: 1 << 39)
  /// A file that was stored before a restart is not read again.
  package static let trustsFiles = Sabotage(rawValue: 1 << 40)
  /// A link on standby is not taken into use when the other one has gone.
  package static let promotesNobody = Sabotage(rawValue: 1 << 41)
  /// Any other medium counts as a better one.
  package static let upgradesAnyhow = Sabotage(rawValue: 1 << 42)
  /// The link in use is given up before the next one can carry anything.
  package static let breaksBeforeMaking = Sabotage(rawValue: 1 << 43)
  /// A silent link is given up half its silence later.
  package static let noticesLate = Sabotage(rawValue: 1 << 44)
  /// A shared clock's error bound does not count the round trip.
  package static let ignoresRoundTrip = Sabotage(rawValue: 1 << 45)
  /// A shared clock is not set by another that is ahead.
  package static let keepsOwnClock = Sabotage(rawValue: 1 << 46)
  /// A better medium is dialled only when an upgrade may take place.
  package static let linksLate = Sabotage(rawValue: 1 << 47)
  /// A relay does not report the hosts that it receives.
  package static let hearsNobody = Sabotage(rawValue: 1 << 48)
  /// No relay is tried once a bond has been open.
  package static let relaysOnce = Sabotage(rawValue: 1 << 49)
  /// A link through a relay is kept where a better way is known.
  package static let staysWithRelays = Sabotage(rawValue: 1 << 50)
  /// A relay that has failed is tried before others again.
  package static let triesAlike = Sabotage(rawValue: 1 << 51)
  /// A relay has no limit on circuits.
  package static let relaysForAll = Sabotage(rawValue: 1 << 52)
  /// A circuit's credit is not enforced.
  package static let ignoresCircuitCredit = Sabotage(rawValue: 1 << 53)
  /// A relay that takes a host back speaks for all relays.
  package static let believesRelays = Sabotage(rawValue: 1 << 54)
  /// A message to all is for every local endpoint of the group, whoever refused the sender.
  package static let tellsRefused = Sabotage(rawValue: 1 << 55)
  /// A message for several local endpoints is reported to each on its own.
  package static let tellsOneByOne = Sabotage(rawValue: 1 << 56)
  /// A message for several local endpoints is not reported to the last.
  package static let skipsTheLast = Sabotage(rawValue: 1 << 57)
  /// Lost members are not reported to the last of several local endpoints.
  package static let forgetsTheLast = Sabotage(rawValue: 1 << 58)
  /// A refusal is not sent to the other side.
  package static let refusesInSilence = Sabotage(rawValue: 1 << 59)
  /// A member that is blocked stays connected.
  package static let keepsBlocked = Sabotage(rawValue: 1 << 60)
  /// Ad hoc mode that ends withdraws what the program advertises itself.
  package static let withdrawsAll = Sabotage(rawValue: 1 << 61)
  /// An invitation from before a removal brings the member back.
  package static let keepsInvitations = Sabotage(rawValue: 1 << 62)
  /// A relay for members alone leads nobody.
  package static let declinesMembers = Sabotage(rawValue: 1 << 63)
}

extension Sabotage {
  /// The outputs in place of one that is for several local endpoints.
  func reports(of output: Output) -> [Output] {
    switch output {
    case .message(let from, .many(let locals), let mode, let type, let bytes) where contains(.tellsOneByOne):
      locals.map { .message(from: from, to: .one($0), mode, type, bytes) }
    case .message(let from, .many(let locals), let mode, let type, let bytes) where contains(.skipsTheLast):
      [.message(from: from, to: .many(Array(locals.dropLast())), mode, type, bytes)]
    case .members(let views, .notConnected(let reason), .many(let locals)) where contains(.forgetsTheLast):
      [.members(views, .notConnected(reason), of: .many(Array(locals.dropLast())))]
    default: [output]
    }
  }
}
