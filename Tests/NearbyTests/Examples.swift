internal import Nearby

/// The examples of the library's documentation, verbatim, with their surroundings.
///
/// A test compares them with the documentation; the compiler checks them.
enum Examples {
  static func host() async throws {
    let host = try await Host.start()
    let ada = try await host.peer(named: "Ada")
    for await condition in host.conditions { print(ada.name, condition) }
  }

  static func executor(host: Host, session: Session) async {
    await withTaskExecutorPreference(host.executor) {
      for await event in session.events {
        if case .message(let message) = event { try? await session.send(message.bytes) }
      }
    }
  }

  static func pairing(host: Host, isSameOnBothScreens: (String?) -> Bool) async throws {
    for await pairing in host.bluetoothPairings {
      try await pairing.answer(isSameOnBothScreens(pairing.number))
    }
  }

  static func peer(host: Host) async throws {
    let ada = try await host.peer(named: "Ada")
    let session = try await ada.openSession()
    try await session.startAdhoc("chat")
  }

  static func away(ada: Peer) async throws {
    try await ada.setAway(since: .now)
    try await ada.setAway(since: nil)
  }

  static func restored(ada: Peer) async throws {
    let earlier = try await ada.restoredSessions()
    let session = if let first = earlier.first { first } else { try await ada.openSession() }
    for await event in session.events {
      switch event {
      case .resource(let resource) where resource.isUnderWay: print("\(try await resource.finished()) is whole")
      case .sending(let resource): try await resource.finished()
      default: break
      }
    }
  }

  static func advertiser(bob: Peer, session: Session) async throws {
    let advertiser = try await bob.advertise("chat", info: ["room": "2"])
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: session)
    }
  }

  static func browser(ada: Peer, session: Session) async throws {
    let browser = try await ada.browse("chat")
    for await event in browser.events {
      if case .found(let peer) = event { try await session.invite(peer.id, as: "chat") }
    }
  }

  static func typeBrowser(host: Host) async throws {
    let browser = try await host.browseTypes()
    for await types in browser.types { print("in use nearby:", types) }
  }

  static func invitation(invitation: Invitation, isWelcome: Bool, session: Session) async throws {
    print("\(invitation.name) invites, and says \(String(decoding: invitation.context, as: UTF8.self))")
    if isWelcome { try await invitation.accept(with: session) } else { await invitation.decline() }
  }

  static func session(session: Session) async throws {
    for await event in session.events {
      switch event {
      case .member(let member, .connected): try await session.send(Array("hello".utf8), to: .only([member]))
      case .message(let message): print(message.from.name, String(decoding: message.bytes, as: UTF8.self))
      default: break
      }
    }
  }

  static func writer(session: Session, member: Member, reading: [UInt8]) async throws {
    let writer = try await session.openStream("sensor", to: member)
    try await writer.write(reading)
    await writer.close()
  }

  static func reader(event: SessionEvent) async throws {
    if case .stream(let reader) = event {
      for try await bytes in reader { print("\(bytes.count) bytes of \(reader.name)") }
    }
  }

  static func outgoing(session: Session, member: Member) async throws {
    let picture = try await session.send(.file("cat.jpg"), to: member)
    for await progress in picture.progress { print(progress.bytes, progress.bytesPerSecond) }
    try await picture.finished()
  }

  static func incoming(event: SessionEvent) async throws {
    if case .resource(let resource) = event {
      try await resource.accept(into: "Downloads")
      print("it is in \(try await resource.finished())")
    }
  }

  static func decision(event: SessionEvent, host: Host) async throws {
    if case .decision(let decision) = event {
      if case .trusted = host.evaluate(decision.chain) {
        try await decision.admit()
      } else {
        try await decision.refuse()
      }
    }
  }

  static func comparison(event: SessionEvent, isSameOnBothScreens: (String) -> Bool) async throws {
    if case .comparison(let comparison) = event {
      try await comparison.conclude(matches: isSameOnBothScreens(comparison.code))
    }
  }

  static func keys() throws {
    let store = try KeyStore(.standard)
    for peer in store.knownPeers where peer.confirmation == .firstUse { try store.forget(peer.id) }
    try store.export(to: "moving.keys")
  }

  static func identity(host: Host, ada: Peer, password: String) async throws -> Session {
    var options = SessionOptions()
    options.identity = try await host.importIdentity(from: "ada.p12", password: password)
    let session = try await ada.openSession(options)
    return session
  }
}
