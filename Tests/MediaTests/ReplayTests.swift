import Reactor
import Testing
import Wire

@testable import Media

/// A replay: an attacker has recorded all bytes on a line, and sends them again.
@Suite struct ReplayTests {
  enum Part: CaseIterable { case hello, hello2, all, allButEnd }

  @Test(arguments: [false, true], Part.allCases)
  func `P-SEC-5 what was said on one link makes no other`(_ isResumed: Bool, _ part: Part) throws {
    let rig = try Rig()
    let host = Recorder()
    try rig.listen(for: host)
    let target = try #require(rig.listener).address
    let tap = try Tap(to: target, on: rig.reactor)
    var answer: [UInt8] = []

    func visit(then goOn: @escaping () -> Void) throws {
      let guest = Recorder()
      (guest.toSend, host.toSend, host.received) = ([1, 2, 3], [9], [])
      guest.closed = goOn
      let link = try SecureLink.dial(
        tap.address, rig.guestContext, resuming: HostID(of: rig.hostKey.publicKey), on: rig.reactor, owner: guest)
      let look = { if host.received == [1, 2, 3], guest.received == [9] { link.close() } }
      (guest.hasReceived, host.hasReceived) = (look, look)
    }

    func sayAgain(_ said: [UInt8]) throws {
      // A side that sends no more than a hello is waited for.
      if part == .hello { rig.limits.handshakeTime = .seconds(1) }
      (host.remoteKeys, host.received, host.ends) = ([], [], [])
      host.hasReceived = {}
      host.closed = { rig.reactor.stop() }
      let line = try Line(.connecting(to: target), on: rig.reactor)
      line.came = { answer += $0 }
      line.send(said)
    }

    func attempt(_ step: () throws -> Void) {
      do {
        try step()
      } catch {
        Issue.record(error)
        rig.reactor.stop()
      }
    }

    func listen() {
      let before = tap.saidForth.count
      attempt {
        try visit {
          let said = Array(tap.saidForth[before...])
          let hello = 5 + Int(said[3]) << 8 + Int(said[4])
          let again =
            switch part {
            case .hello: Array(said[..<hello])
            case .hello2: Array(said[..<hello] + said[..<hello])
            case .all: said
            case .allButEnd: Array(said.dropLast(24))
            }
          attempt { try sayAgain(again) }
        }
      }
    }
    rig.reactor.soon { if isResumed { attempt { try visit { listen() } } } else { listen() } }
    rig.run()
    #expect(host.remoteKeys == [])
    #expect(host.received == [])
    #expect(host.ends.count == 1)
    switch host.ends.first {
    case .handshakeTimedOut: #expect(part == .hello && !answer.isEmpty)
    case .refused(.other): #expect(part != .hello)
    default: Issue.record("\(host.ends)")
    }
  }
}
