import COpenSSL
import Reactor
import Testing
import Wire

@testable import Media

@Suite struct ResumptionTests {
  /// Both hosts' view of one link.
  private struct Meeting {
    let host: Recorder
    let guest: Recorder
    let wasResumed: Bool
  }

  /// Dials, lets the host send a byte, behind which its ticket has surely come, and cuts the line.
  private func meet(
    _ rig: Rig, resuming host: HostID?, accepting context: LinkContext? = nil, over change: (Tap) -> Void = { _ in }
  ) throws -> Meeting {
    let reactor = try Reactor()
    let (here, there) = (Recorder(), Recorder())
    there.toSend = [1]
    var links: [SecureLink] = []
    var resumed: [Bool] = []
    for end in [here, there] { end.opened = { resumed.append($0.isResumed) } }
    let listener = try Listener(at: .loopback(port: 0), on: reactor) {
      do {
        links.append(try .accept($0, context ?? rig.hostContext, on: reactor, owner: there))
      } catch {
        Issue.record(error)
      }
    }
    let tap = try Tap(to: listener.address, on: reactor)
    change(tap)
    here.hasReceived = { if here.received == [1] { tap.cut() } }
    for end in [here, there] {
      end.closed = { if here.ends.count + there.ends.count == 2 || there.remoteKeys.isEmpty { reactor.stop() } }
    }
    links.append(try .dial(tap.address, rig.guestContext, resuming: host, on: reactor, owner: here))
    reactor.schedule(after: .seconds(20)) {
      Issue.record("the test hangs")
      reactor.stop()
    }
    reactor.run()
    #expect(Set(resumed).count < 2)
    return Meeting(host: there, guest: here, wasResumed: resumed.first ?? false)
  }

  @Test func `P-SEC-5 a link that was cut is resumed, with the same keys on both sides and another secret`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    var exporters: Set<Digest> = []
    for round in 0..<4 {
      let meeting = try meet(rig, resuming: id)
      #expect(meeting.wasResumed == (round > 0))
      #expect(meeting.host.remoteKeys == [rig.guestKey.publicKey])
      #expect(meeting.guest.remoteKeys == [rig.hostKey.publicKey])
      #expect(meeting.host.exporters == meeting.guest.exporters)
      exporters.formUnion(meeting.host.exporters)
    }
    #expect(exporters.count == 4)
  }

  @Test func `a resumed handshake shows no certificate, and exchanges keys all the same`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    var sizes: [Int] = []
    for _ in 0..<2 {
      var tap: Tap?
      _ = try meet(rig, resuming: id) { tap = $0 }
      // A server hello with a key share has over a hundred bytes; the certificate and its signature make the rest.
      sizes.append(try #require(tap).saidBack.count)
    }
    #expect(sizes[0] - sizes[1] > 300, "\(sizes)")
    #expect(sizes[1] > 500)
  }

  @Test func `P-ID-5 a ticket at another host leads to a full handshake, and to that host's key`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    let other = SigningKey()
    let meeting = try meet(rig, resuming: id, accepting: LinkContext(key: other))
    #expect(!meeting.wasResumed)
    #expect(meeting.guest.remoteKeys == [other.publicKey])
    #expect(meeting.host.remoteKeys == [rig.guestKey.publicKey])
  }

  @Test func `a ticket whose keys were replaced, or lost with their host's process, leads to a full handshake`() throws
  {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    rig.hostContext.replaceTicketKeys()
    #expect(try !meet(rig, resuming: id).wasResumed)
    #expect(try meet(rig, resuming: id).wasResumed)
    let restarted = LinkContext(key: rig.hostKey)
    #expect(try !meet(rig, resuming: id, accepting: restarted).wasResumed)
    #expect(try meet(rig, resuming: id, accepting: restarted).wasResumed)
  }

  @Test func `the keys of tickets are replaced every hour`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    SSL_free(rig.hostContext.makeConnection(at: Reactor.now + LinkContext.ticketKeysTime - 60_000_000_000))
    #expect(try meet(rig, resuming: id).wasResumed)
    SSL_free(rig.hostContext.makeConnection(at: Reactor.now + LinkContext.ticketKeysTime + 60_000_000_000))
    #expect(try !meet(rig, resuming: id).wasResumed)
  }

  @Test(arguments: Array(stride(from: 0, to: 400, by: 7))) func `an altered ticket leads to a full handshake`(
    _ place: Int
  ) throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    rig.guestContext.changeTicket(of: id) { $0[place % $0.count] ^= 4 }
    let meeting = try meet(rig, resuming: id)
    #expect(!meeting.wasResumed)
    #expect(meeting.guest.remoteKeys == [rig.hostKey.publicKey])
    #expect(meeting.host.remoteKeys == [rig.guestKey.publicKey])
  }

  @Test func `a ticket changed on its way makes no link`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    let ticket = rig.guestContext.ticket(of: id)
    #expect(ticket.count > 100)
    let meeting = try meet(rig, resuming: id) { tap in
      tap.forth = { bytes in
        var changed = bytes
        if let start = bytes.firstRange(of: ticket)?.lowerBound { changed[start + 50] ^= 1 }
        return changed
      }
    }
    #expect(meeting.guest.remoteKeys == [] && meeting.host.remoteKeys == [])
  }

  @Test func `a ticket is used once, and lets no data go early`() throws {
    let rig = try Rig()
    let id = HostID(of: rig.hostKey.publicKey)
    _ = try meet(rig, resuming: id)
    rig.guestContext.withTicket(of: id) { #expect(SSL_SESSION_get_max_early_data($0) == 0) }
    let ticket = rig.guestContext.ticket(of: id)
    // Cut before a new one has come.
    #expect(
      try meet(rig, resuming: id) { tap in tap.back = { tap.saidForth.count > 1_500 ? nil : $0 } }.host.ends != [])
    #expect(rig.guestContext.ticket(of: id) != ticket)
  }

  @Test func `who dials without a name resumes nothing`() throws {
    let rig = try Rig()
    _ = try meet(rig, resuming: nil)
    #expect(try !meet(rig, resuming: nil).wasResumed)
  }

  @Test func `tickets of 512 hosts are kept, and the oldest go`() throws {
    let tickets = Tickets()
    let hosts = (0..<520).map { HostID(ID128(high: 0, low: $0)) }
    for host in hosts {
      // Only want of memory would leave none.
      tickets.keep(SSL_SESSION_new()!, of: host)
    }
    let kept = hosts.filter { host in
      var isKept = false
      tickets.use(for: host) { _ in isKept = true }
      return isKept
    }
    #expect(kept == Array(hosts.suffix(512)))
  }
}

extension LinkContext {
  /// Looks at the stored ticket of a host, and leaves it there.
  fileprivate func withTicket(of host: HostID, _ body: (OpaquePointer) -> Void) {
    var kept: OpaquePointer?
    tickets.use(for: host) {
      body($0)
      SSL_SESSION_up_ref($0)
      kept = $0
    }
    if let kept { tickets.keep(kept, of: host) }
  }

  fileprivate func changeTicket(of host: HostID, _ change: (UnsafeMutableBufferPointer<UInt8>) -> Void) {
    withTicket(of: host) {
      var bytes: UnsafePointer<UInt8>?
      var count = 0
      SSL_SESSION_get0_ticket($0, &bytes, &count)
      // It is the session's own memory, which only this test uses now.
      change(UnsafeMutableBufferPointer(start: UnsafeMutablePointer(mutating: bytes), count: count))
    }
  }

  fileprivate func ticket(of host: HostID) -> [UInt8] {
    var ticket: [UInt8] = []
    changeTicket(of: host) { ticket = Array($0) }
    return ticket
  }
}
