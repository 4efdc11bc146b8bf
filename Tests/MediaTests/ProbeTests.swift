import Reactor
import Testing
import Wire

@testable import Media

@Suite struct ProbeTests {
  @Test func `P-BRO-5 a host that is there answers, once; another host there does not`() throws {
    let rig = try Rig()
    let host = try RecordingHost(rig.hostKey, on: rig.reactor)
    let guest = try RecordingHost(rig.guestKey, on: rig.reactor)
    let address = host.port.address
    guest.answered = { if guest.answers.count == 2 { rig.reactor.stop() } }
    rig.reactor.soon {
      guest.port.probe(HostID(of: rig.hostKey.publicKey), at: [address, address], tag: 1)
      guest.port.probe(HostID(of: SigningKey().publicKey), at: [address], tag: 2)
      guest.port.probe(HostID(of: rig.hostKey.publicKey), at: [address], tag: 3)
    }
    rig.run()
    #expect(guest.answers == [1, 3])
    #expect(host.port.counts.probesAnswered == 3)
    #expect(host.port.counts.probesIgnored == 1)
  }

  @Test func `a host does not answer itself, and another one with its key does`() throws {
    let rig = try Rig()
    let host = try RecordingHost(rig.hostKey, on: rig.reactor)
    let twin = try RecordingHost(rig.hostKey, on: rig.reactor)
    let id = HostID(of: rig.hostKey.publicKey)
    host.answered = { rig.reactor.stop() }
    rig.reactor.soon {
      host.port.probe(id, at: [host.port.address], tag: 1)
      host.port.probe(id, at: [host.port.address, twin.port.address], tag: 2)
    }
    rig.run()
    #expect(host.answers == [2])
    #expect(host.port.counts.probesAnswered == 0)
    #expect(twin.port.counts.probesAnswered == 1)
  }

  @Test func `an answer is as large as its question, and goes to who asked`() throws {
    let rig = try Rig()
    let host = try RecordingHost(rig.hostKey, on: rig.reactor)
    let stranger = try Descriptor.datagrams(at: .loopback(port: 0))
    let question = try #require(Golden.packet("probe"))
    // The question of the vector is for another host.
    let id = HostID(of: rig.hostKey.publicKey).raw
    let mine =
      question[..<1]
      + [id.high, id.low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) } }
      + question[17...]
    PacketRelay.send(question, stranger, host.port.address)
    PacketRelay.send(Array(mine), stranger, host.port.address)
    var answers: [[UInt8]] = []
    let registration = try rig.reactor.register(stranger, for: .readable) { _ in
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
      defer { room.deallocate() }
      while let (count, _) = try? stranger.receive(into: room) { answers.append(Array(room[..<count])) }
      rig.reactor.stop()
    }
    rig.run()
    rig.reactor.deregister(registration)
    #expect(answers == [[2] + mine.dropFirst()])
  }

  @Test func `an answer to what was not asked, or by another host, tells nothing`() throws {
    let rig = try Rig()
    let guest = try RecordingHost(rig.guestKey, on: rig.reactor)
    let liar = try Descriptor.datagrams(at: .loopback(port: 0))
    let here = try #require(try liar.localAddress())
    rig.reactor.soon { guest.port.probe(HostID(of: rig.hostKey.publicKey), at: [here], tag: 1) }
    let registration = try rig.reactor.register(liar, for: .readable) { _ in
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
      defer { room.deallocate() }
      guard let (count, _) = try? liar.receive(into: room) else { return }
      var answer = Array(room[..<count])
      answer[0] = 2
      for place in [3, 20] {
        var wrong = answer
        wrong[place] ^= 1
        PacketRelay.send(wrong, liar, guest.port.address)
      }
      PacketRelay.send(answer, liar, guest.port.address)
      PacketRelay.send(answer, liar, guest.port.address)
    }
    guest.answered = { rig.reactor.soon { rig.reactor.stop() } }
    rig.run()
    rig.reactor.deregister(registration)
    #expect(guest.answers == [1])
    #expect(guest.port.counts.garbage == 3)
  }

  @Test func `who asks without end is answered at a rate`() {
    var allowance = AnswerAllowance()
    let flooder = SocketAddress.loopback(port: 1)
    let second: UInt64 = 1_000_000_000
    var answered = 0
    for time in 0..<10_000 where allowance.takeToken(for: flooder, at: 100 * second + UInt64(time) * second / 1_000) {
      answered += 1
    }
    #expect(answered == 32 + 320)
    // Addresses outside the flooder's slot of 256 have an answer all the same.
    let others = (0..<255).filter {
      allowance.takeToken(for: SocketAddress("10.0.0.\($0)", port: 1)!, at: 110 * second)
    }
    #expect(others.count > 200)
  }

  @Test func `open questions are kept in bounded number and time`() {
    var probes = Probes()
    let host = HostID(of: SigningKey().publicKey)
    let second: UInt64 = 1_000_000_000
    let old = probes.ask(Probes.Question(host: host, tag: 0), at: 100 * second)
    let nonces = (1...10_000).map { probes.ask(Probes.Question(host: host, tag: $0), at: 100 * second) }
    #expect(probes.take(old, by: host) == nil)
    #expect(nonces.filter { probes.take($0, by: host) != nil }.count <= 8_192)
    let late = probes.ask(Probes.Question(host: host, tag: 1), at: 200 * second)
    let next = probes.ask(Probes.Question(host: host, tag: 2), at: 209 * second)
    #expect(probes.take(late, by: host) == nil)
    #expect(probes.take(next, by: host)?.tag == 2)
  }
}
