internal import Nearby
internal import Notation
internal import Store
internal import Web

/// Limits in `/v1/gateway`: each is defined where it is enforced, and has its name here.
extension Core {
  /// Limits that the operator may set, and fixed ones.
  var limits: JSON {
    .object(
      GatewayLimits.all.map { .init($0.name, .number(currentLimits[$0])) }
        + fixedLimits.map { .init($0, .number($1)) })
  }

  private var fixedLimits: [(String, Int)] {
    let (web, channel, guesses) = (webLimits, Collection.Limits(), clients.limits.guesses)
    return [
      ("messageBytes", Self.messageBytesMax), ("jsonBytes", Service.jsonBytesMax), ("textBytes", Fields.textBytesMax),
      ("contentTypeBytes", Limits.contentTypeBytesMax), ("contextBytes", Routes.contextBytesMax),
      ("displayNameBytes", Limits.displayNameBytesMax), ("serviceTypeBytes", Limits.serviceTypeBytesMax),
      ("discoveryInfoBytes", Limits.discoveryInfoBytesMax),
      ("discoveryInfoTexts", Limits.discoveryPairsMax), ("discoveryTextBytes", Limits.discoveryPairBytesMax),
      ("streamNameBytes", Limits.streamNameBytesMax), ("resourceNameBytes", Limits.resourceNameBytesMax),
      ("resourceTypeBytes", Limits.resourceTypeBytesMax), ("answerSeconds", Routes.timeoutMax),
      // Sessions.
      ("connectionsPerSession", Self.connectionsPerSessionMax), ("connectionDataBytes", Routes.dataBytesMax),
      ("blocked", Routes.blockedMax), ("goneMembers", Self.goneMembersMax),
      ("decisionSeconds", Self.decisionTime.wholeSeconds), ("namedRecipients", Delivery.namedMax),
      ("historyMessages", SessionParameters.Retention.messagesMax),
      ("memoryHistoryMessages", SessionParameters.Retention.messagesInMemoryMax),
      ("historySeconds", Int(Routes.ageMax)),
      ("historyChanges", History.changesMax), ("historyChangesBytes", History.changesBytesMax),
      // Pairing and trust.
      ("pairingCodes", clients.limits.codesMax), ("pairingCodeSeconds", Int(Routes.codeSecondsMax)),
      ("wrongCodesPerMinute", guesses.elsewhereMax), ("wrongCodesPerMinuteOfAddress", guesses.addressMax),
      ("wrongCodesPerMinuteOfNetwork", guesses.networkMax), ("wrongCodesPerMinuteOfMachine", guesses.machineMax),
      ("openTokenSeconds", clients.limits.openTokenTime.wholeSeconds), ("identities", KeyStore.identitiesMax),
      ("anchors", KeyStore.anchorsMax), ("knownPeers", KeyStore.knownPeersMax),
      ("identityFileBytes", Routes.identityFileBytesMax),
      // Answers.
      ("pageItems", Listing.pageMax), ("pageBytes", Listing.pageBytesMax), ("snapshotItems", Snapshot.itemsMax),
      ("snapshotBytes", Snapshot.bytesMax), ("smallAnswerBytes", ResponseBudget.smallBytesMax),
      ("largeAnswersBytes", ResponseBudget.bytesMax), ("largeAnswerSeconds", ResponseBudget.waitTime.wholeSeconds),
      ("largeAnswersWaiting", ResponseBudget.waitingMax), ("turnMicroseconds", Int(FairQueue.turnTime / 1_000)),
      ("waitSeconds", Listing.waitMax),
      // History and retention.
      ("changes", channel.changesMax), ("changesBytes", channel.changesBytesMax), ("events", EventLog.countMax),
      ("invitations", Self.invitationsMax), ("invitationsBytes", Self.invitationBytesMax),
      ("auditEntries", AuditLog.entriesMax), ("idempotencyKeys", Idempotency.answersMax),
      ("idempotencyBytes", Idempotency.bytesMax), ("idempotencyKeyBytes", Idempotency.keyBytesMax),
      ("idempotencySeconds", Idempotency.keptFor.wholeSeconds), ("storeQueue", Writer.queueMax),
      // WebSockets.
      ("socketMessageBytes", Sockets.messageBytesMax), ("socketQueueBytes", SocketClient.queuedBytesMax),
      ("socketUnreadBytes", SocketClient.unreadBytesMax), ("pagesPerClient", SocketClient.clientPagesMax),
      ("socketLagBytes", channel.ringBytesMax), ("socketMessagesLagBytes", Self.messagesRingBytesMax),
      ("streamSocketQueueBytes", StreamSocket.queuedBytesMax),
      ("streamSocketWaitingBytes", StreamSocket.waitingBytesMax),
      ("streamSocketLastSeconds", StreamSocket.lingerTimeout.wholeSeconds),
      ("socketQueuesBytes", web.socketQueuesBytesMax), ("socketShareBytes", web.socketShareBytesMax),
      ("pingSeconds", web.pingInterval.wholeSeconds), ("closingSeconds", web.closingTime.wholeSeconds),
      ("leavingSeconds", web.leavingTime.wholeSeconds),
      ("connectSeconds", options.authenticationTimeout.wholeSeconds),
      ("graceSeconds", options.reconnectTimeout.wholeSeconds),
      ("awaySeconds", options.awayTime.wholeSeconds), ("scrubSeconds", options.scrubTime.wholeSeconds),
      // Connections.
      ("undecidedConnections", web.undecidedMax), ("headBytes", web.headBytesMax), ("headFields", web.headerFieldsMax),
      ("chunkLineBytes", web.chunkLineBytesMax), ("headSeconds", web.headTime.wholeSeconds),
      ("idleSeconds", web.idleTime.wholeSeconds),
      ("requestsPerConnection", web.requestsPerConnectionMax), ("slowSeconds", web.slowTime.wholeSeconds),
      ("bodyBytesPerSecond", web.bodyBytesPerSecondMin), ("answersBytes", web.answersBytesMax),
      ("answersPerAddressBytes", web.answersPerClientBytesMax), ("answerShareBytes", web.answerShareBytesMax),
    ]
  }

  /// The limits of the HTTP server.
  var webLimits: WebLimits {
    var limits = WebLimits()
    limits.connectionsMax = options.limits.connections
    limits.connectionsPerClientMax = options.limits.connectionsPerClient
    return limits
  }
}

extension Duration {
  fileprivate var wholeSeconds: Int { Int(components.seconds) }
}
