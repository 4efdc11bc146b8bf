internal import Nearby

/// Questions that only the user can answer.
extension SessionCommand {
  enum Question: Sendable {
    case invitation(Invitation)
    case resource(IncomingResource)
    case comparison(Comparison)
    case decision(TrustDecision)
    case pairing(BluetoothPairing)
  }

  /// Limit for open questions; nobody reads more at once, and further ones are declined.
  private static let questionsMax = 256

  // MARK: Invitations

  /// Advertises a peer that itself searches, unless that is switched off, or nobody is present to answer an invitation.
  func advertiseByDefault() async throws {
    if context.invocation.has("no-advertise") { return }
    if policy.takesInvitations || policy.readsInstructions && context.terminal.hasInput { try await advertise() }
  }

  /// Lets others find this peer and invite it.
  func advertise() async throws {
    let info = context.invocation.pairs("info")
    let advertiser = try await commandHost.peer.advertise(type, info: info, until: policy.until)
    tasks.add { [type] in
      await Conditions.report(advertiser.states, of: .advertiser, type) { await self.report($0) }
    }
    tasks.add { [policy, commandHost] in
      for await invitation in advertiser.invitations { await self.take(invitation) }
      if policy.until != .stopped, !commandHost.isEnding { await self.report(.endedByItself(policy.until)) }
    }
  }

  private func take(_ invitation: Invitation) async {
    let number = number()
    labels.add(invitation.from, invitation.name)
    let label = labels.label(invitation.from)
    guard policy.takesInvitations || questions.count < Self.questionsMax else { return await invitation.decline() }
    if !policy.takesInvitations { questions[number] = .invitation(invitation) }
    await report(.invitation(number, invitation, label, isTaken: policy.takesInvitations))
    tasks.add {
      let reason = await invitation.ended
      await self.forget(number)
      await self.report(.invitationEnded(number, invitation.from, invitation.name, label, reason))
    }
    if policy.takesInvitations { accept(invitation) }
  }

  private func accept(_ invitation: Invitation) {
    tasks.add { [session] in
      // The outcome is reported by the code that waits for it.
      try? await invitation.accept(with: session)
    }
  }

  private func forget(_ number: Int) { questions[number] = nil }

  // MARK: Files and codes

  func take(_ resource: IncomingResource) async {
    let number = number()
    var transfer = Event.Transfer(
      number: number, direction: .incoming, member: resource.member, label: label(resource.member),
      name: resource.name)
    (transfer.type, transfer.size) = (resource.type, resource.size)
    if resource.isUnderWay {
      await report(.resource(transfer, isTaken: true, isResumed: true))
      tasks.add { [transfer] in await self.follow(resource, transfer) }
      return
    }
    guard policy.takesFiles || questions.count < Self.questionsMax else { return await resource.decline() }
    if !policy.takesFiles { questions[number] = .resource(resource) }
    await report(.resource(transfer, isTaken: policy.takesFiles))
    tasks.add { [transfer] in await self.follow(resource, transfer) }
    if policy.takesFiles { await accept(resource) }
  }

  private func accept(_ resource: IncomingResource) async {
    do {
      try await resource.accept(into: policy.folder)
    } catch {
      await report(.error(Failure(error)))
      await resource.decline()
    }
  }

  /// Decides whether a member is admitted: by rule, or by asking.
  func decide(_ decision: TrustDecision) async {
    let number = number()
    let (peer, admission) = (decision.member.peer, context.admission)
    let verdict = commandHost.host.evaluate(decision.chain)
    let says: String
    var admits: Bool?
    if admission == .known {
      admits = commandHost.host.knownPeer(peer) != nil
      says = admits == true ? "It is known." : "It is not known; 'vicinity identity compare' makes sure who it is."
    } else {
      switch verdict {
      case .trusted(let anchor): says = "Its certificates lead to \(anchor.summary.subject)."
      case .distrusted(let why): says = why.description
      }
      if admission == .anchors, case .trusted = verdict { admits = true }
      if admission == .anchors, admits == nil { admits = false }
    }
    if admits == nil, questions.count < Self.questionsMax { questions[number] = .decision(decision) }
    await report(.decision(number, decision, label(decision.member), verdict: says, isAdmitted: admits))
    guard let admits else { return }
    await conclude(decision, admits)
  }

  /// Answers the decision; one that has timed out was refused by that.
  private func conclude(_ decision: TrustDecision, _ admits: Bool) async {
    if admits { try? await decision.admit() } else { try? await decision.refuse() }
  }

  func ask(_ comparison: Comparison) async {
    let number = number()
    let (member, label) = (comparison.member, label(comparison.member))
    questions[number] = .comparison(comparison)
    await report(.comparison(number, member, comparison.code, label))
    tasks.add {
      let reason = await comparison.ended
      await self.concluded(number, member, reason)
      await self.report(.comparisonEnded(number, member, label, reason))
    }
  }

  private func concluded(_ number: Int, _ member: Member, _ reason: Reason) {
    forget(number)
    comparisons[member.peer] = reason
    changes.notify()
  }

  func close(_ number: Int) { forget(number) }

  // MARK: Bluetooth devices

  func followPairings() async {
    for await pairing in commandHost.host.bluetoothPairings { await ask(pairing) }
  }

  private func ask(_ pairing: BluetoothPairing) async {
    // Nobody is present to compare numbers, so time decides.
    guard policy.readsInstructions, context.terminal.hasInput, questions.count < Self.questionsMax else { return }
    let number = number()
    questions[number] = .pairing(pairing)
    await report(.bluetoothPairing(number, pairing))
    tasks.add {
      let end = await pairing.ended
      await self.forget(number)
      await self.report(.bluetoothPairingEnded(number, pairing, end))
    }
  }

  // MARK: Answers

  func answer(_ chosen: Int?, yes: Bool) async throws {
    guard let number = chosen ?? questions.keys.min() else {
      throw Failure(.failed, "There is nothing to \(yes ? "accept" : "decline") now.")
    }
    // The question that was meant may have ended, and another one come.
    if chosen == nil, yes, case .pairing? = questions[number] {
      throw Failure(.failed, "That is a Bluetooth device: compare what it shows, then say '/accept \(number)'.")
    }
    guard let question = questions.removeValue(forKey: number) else {
      throw Failure(.failed, "There is no question \(number), or it was answered, or has ended.")
    }
    switch question {
    case .invitation(let invitation):
      if yes { accept(invitation) } else { await invitation.decline() }
    case .resource(let resource):
      if yes { await accept(resource) } else { await resource.decline() }
    case .comparison(let comparison):
      try await comparison.conclude(matches: yes)
    case .decision(let decision):
      await conclude(decision, yes)
    case .pairing(let pairing):
      try await pairing.answer(yes)
    }
  }
}
