import Wire

/// Handover: how the bond of two hosts goes over from one link to another.
///
/// Invariant: make before break. A link that is to take over stands beside the one in use until both sides have sent
/// their positions on it; then each side sends over the new one from where the other's position says. Records that came
/// over the former link meanwhile are skipped when they come again, and its last unreliable messages are still taken.
extension Engine {
  // MARK: Roles

  /// Sets the role of a link as its greeting says.
  func takeRole(of link: Link, from hello: Hello) {
    let isFirst = !link.hasGreeted
    switch hello.role {
    case .promoted:
      link.isStandby = false
      link.ordinal = max(link.ordinal, hello.ordinal)
      return
    case .standby: if isFirst, link.host.bond?.link !== link { link.isStandby = true }
    // A host that knows no standby takes the link into use.
    case nil: if !hello.features.contains(.standby) { link.isStandby = false }
    }
    if !link.isDialed { link.ordinal = hello.ordinal }
  }

  /// A link that is dialled over a worse medium than that of the link in use is for standby; over a better one it is while
  /// an upgrade would be too soon.
  func isForStandby(_ medium: MediumID, of bond: Bond) -> Bool {
    isWorse(medium, than: bond.next ?? bond.link) || isTooSoon(medium, for: bond)
  }

  private func isWorse(_ medium: MediumID, than used: Link?) -> Bool {
    guard let used, used.features.contains(.standby), !sabotage.contains(.upgradesAnyhow) else { return false }
    return profile(of: medium).rank > used.profile.rank
  }

  /// One link of a medium is enough; and where none in use is answered, this one is promoted.
  func keepOnStandby(_ link: Link, for bond: Bond) {
    if bond.link == nil || isAnswerOverdue(bond) { return promote(link, for: bond) }
    if bond.isOpen, bond.link?.medium == link.medium { return close(link, .duplicate) }
    for other in bond.host.links
    where other !== link && other.isStandby && other.hasGreeted && !other.isClosing && other.medium == link.medium {
      close(precedes(link, other) ? other : link, .duplicate)
    }
    // It may be an upgrade whose time is known now.
    dialBeside(bond.host)
  }

  // MARK: Choosing

  /// Both sides choose the same link: the one dialled or promoted later in the life of the bond; of two at once, the
  /// one that the lower host dialled; of two of those, by a number that both know.
  private func precedes(_ link: Link, _ other: Link) -> Bool {
    if link.ordinal != other.ordinal { return link.ordinal > other.ordinal }
    let isLower = link.isDialed == (hostID < link.host.id)
    let isOtherLower = other.isDialed == (hostID < link.host.id)
    return isLower != isOtherLower ? isLower : link.exporter > other.exporter
  }

  func prefer(_ link: Link, for bond: Bond, as role: Hello.Role?) {
    bond.linkOrdinal = max(bond.linkOrdinal, link.ordinal)
    guard let newest = bond.next ?? bond.link else { return attach(link, to: bond) }
    if newest === link { return attachAgain(link, to: bond) }
    guard precedes(link, newest) else {
      // The other side had given it up for a moment, and knows nothing of the next one, which may be dead.
      if link === bond.link { return attachAgain(link, to: bond) }
      // Each side has promoted another one: that of this side may be dead.
      if role == .promoted, bond.hasBeenOpen, !bond.isOpen, bond.next == nil {
        bond.link = link
        bond.next = newest
        newest.mayRepeat = true
        return sendAttach(over: link, for: bond)
      }
      return giveWay(link, to: newest)
    }
    if let next = bond.next {
      bond.next = nil
      giveWay(next, to: link)
    }
    if link === bond.link { return attachAgain(link, to: bond) }
    // One without an answer is given up for another of its medium alone.
    let isKept = bond.isOpen || bond.hasBeenOpen && bond.link?.medium != link.medium
    if isKept, link.features.contains(.standby), !sabotage.contains(.breaksBeforeMaking) {
      return makeNext(link, of: bond)
    }
    // The old link is closed once the other is in use: a host that sees it end first would consider the bond cut.
    bond.link?.isRetired = true
    attach(link, to: bond)
  }

  /// Neither side will use the link, since both know a newer one.
  private func giveWay(_ link: Link, to newer: Link) {
    if !standsBy(link, beside: newer) { close(link, .duplicate) }
  }

  /// The other side greets anew over the link that it has: for another bond, or because it takes the link into use
  /// again. Where both did that at once, each has sent its `attach` already.
  private func attachAgain(_ link: Link, to bond: Bond) {
    let isSent = link.attachSent.map { $0 == (bond.nonce, bond.theirs) } ?? false
    if isSent, bond.next === link || !bond.isOpen { return }
    if bond.next === link { bond.next = nil }
    attach(link, to: bond)
  }

  // MARK: Taking over

  /// Both sides have sent their positions over the next link: it is the link in use from now on.
  func takeOver(_ link: Link, of bond: Bond) {
    let former = bond.link
    bond.next = nil
    bond.link = link
    for invitation in bond.host.asking.values { invitation.answeredOn = nil }
    guard let former, former !== link else { return }
    former.lossy.withBytes { link.lossy.append($0) }
    link.lossySizes += former.lossySizes
    former.lossy.removeAll()
    former.lossySizes = []
    former.beginUse()
    if !standsBy(former, beside: link) {
      former.isRetired = true
      former.closesAt = now + Self.lingerMax
      timers.set(.link(former.id), now + Self.lingerMax)
    }
    // One link of a medium is enough, and the other side may have lost this one without being able to say so.
    for other in standbys(of: bond.host) where other !== link && other.medium == link.medium {
      close(other, .duplicate)
    }
  }

  /// Keeps a link that another one goes before on standby if its medium is worse than that one's, and better than those
  /// of all others on standby, which are closed. False where it is of no use.
  private func standsBy(_ link: Link, beside used: Link) -> Bool {
    let rivals = standbys(of: link.host).filter { $0 !== link && $0 !== used && $0.medium != used.medium }
    let isUseful =
      link.profile.rank > used.profile.rank && !link.profile.isRelayed && link.features.contains(.standby)
      && rivals.allSatisfy { $0.profile.rank > link.profile.rank }
    guard isUseful, !sabotage.contains(.upgradesAnyhow) else { return false }
    link.isStandby = true
    for rival in rivals { close(rival, .duplicate) }
    return true
  }

  private func standbys(of host: RemoteHost) -> [Link] { host.links.filter { $0.isStandby && !$0.isClosing } }

  /// The last unreliable messages of a slow medium have arrived by then.
  private static let lingerMax: Duration = .seconds(2)

  /// Whether a record came over the former link already: its first ones may, and none after one that did not.
  func isRepeated(_ body: RawSpan, on link: Link) -> Bool {
    var reader = Reader(body)
    guard let head = try? RecordHead(from: &reader), let bond = link.host.bond, bond.link === link,
      let strand = bond.incomingStrand(head.strand), head.sequence <= strand.received
    else {
      link.mayRepeat = false
      return false
    }
    return true
  }

  // MARK: Loss

  /// The link in use has gone, or is not answered: the next one, or the best one on standby, is used. False where there
  /// is neither.
  func replaceLink(of bond: Bond) -> Bool {
    guard let next = bond.next else { return promoteStandby(of: bond) }
    bond.link?.isRetired = true
    bond.next = nil
    bond.link = next
    expectAnswer(bond)
    dialReserve(for: bond)
    return true
  }

  /// Promotes the best link on standby. False where there is none.
  private func promoteStandby(of bond: Bond) -> Bool {
    guard let best = bestStandby(of: bond.host), isWanted(bond.host), bond.theirs != 0,
      !sabotage.contains(.promotesNobody)
    else { return false }
    promote(best, for: bond)
    return true
  }

  func bestStandby(of host: RemoteHost) -> Link? {
    standbys(of: host).filter(\.hasGreeted).min { $0.profile.rank < $1.profile.rank }
  }

  /// Takes a link on standby into use: greets and attaches in one go, so that the other side may answer at once. One that
  /// is in use stays so until then.
  func promote(_ link: Link, for bond: Bond) {
    link.isStandby = false
    link.mayBeAnsweredAgain = true
    // A whole interval to answer in.
    link.heard = now
    timers.set(.link(link.id), now + link.heartbeatInterval)
    let last = max(bond.ordinalLast, bond.host.links.map(\.ordinal).max() ?? 0)
    link.ordinal = max(bond.linkOrdinal, last) &+ 1
    bond.linkOrdinal = link.ordinal
    bond.ordinalLast = link.ordinal
    greet(link, bond, as: .promoted)
    if bond.isOpen, !sabotage.contains(.breaksBeforeMaking) { return makeNext(link, of: bond) }
    bond.link?.isRetired = true
    attach(link, to: bond)
    expectAnswer(bond)
    bond.host.dialsBeside = nil
    dialReserve(for: bond)
  }

  /// Has a link take over from the one in use once both sides have sent their positions on it.
  private func makeNext(_ link: Link, of bond: Bond) {
    bond.next = link
    link.mayRepeat = true
    sendAttach(over: link, for: bond)
  }

  private func isAnswerOverdue(_ bond: Bond) -> Bool {
    guard let link = bond.link, bond.next == nil, bond.hasBeenOpen, !bond.isOpen else { return false }
    return now - link.waitsSince >= Self.answerMax
  }

  /// The pairs are not suspended while the answer may be on its way.
  func expectAnswer(_ bond: Bond) {
    guard bond.hasBeenOpen else { return }
    bond.suspendsAt = now + Self.answerMax
    timers.set(.bond(bond.host.id), min(now + Self.answerMax, bond.heard + bond.suspensionMax))
  }

  /// A round trip of a slow radio.
  private static let answerMax: Duration = .seconds(1)
}
