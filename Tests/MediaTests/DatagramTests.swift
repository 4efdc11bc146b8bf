import Reactor
import Testing
import Wire

@testable import Media

@Suite struct DatagramTests {
  private let quick = {
    var limits = DatagramPath.Limits()
    limits.firstKnocks = .milliseconds(5)
    limits.knocks = .milliseconds(20)
    limits.silenceMax = .milliseconds(70)
    return limits
  }()

  @Test func `P-MSG-4 once a way is proved, datagrams cross both ways`() throws {
    let crossing = try TwoHosts()
    let (host, guest) = (crossing.host, crossing.guest)
    let largest = (0..<1_167).map { UInt8(truncatingIfNeeded: $0) }
    for end in [host, guest] {
      end.came = { if host.datagrams.count + guest.datagrams.count == 4 { crossing.stop() } }
    }
    crossing.run {
      #expect(host.send([1]) && host.send(largest))
      #expect(guest.send([2]) && guest.send(largest))
    }
    #expect(host.datagrams == [[2], largest])
    #expect(guest.datagrams == [[1], largest])
    #expect(host.bytesMax == [1_167] && guest.bytesMax == [1_167])
    #expect(crossing.ferry.packets.allSatisfy { $0.count <= 1_200 })
  }

  @Test func `the largest datagram is not exceeded, and before there is a way nothing goes`() throws {
    let crossing = try TwoHosts()
    let guest = crossing.guest
    crossing.ferry.forth = { packet in
      if guest.bytesMax.isEmpty { #expect(!guest.send([1])) }
      return [packet]
    }
    crossing.run {
      #expect(!guest.send([UInt8](repeating: 0, count: 1_168)))
      crossing.stop()
    }
    #expect(crossing.host.datagrams == [])
  }

  @Test func `a packet that comes twice, in whatever order, is delivered once`() throws {
    let crossing = try TwoHosts()
    let (host, guest, ferry) = (crossing.host, crossing.guest, crossing.ferry)
    var held: [[UInt8]] = []
    ferry.forth = { packet in
      guard packet[0] == 4 else { return [packet] }
      held.append(packet)
      return held.count == 20 ? held.reversed() + held : []
    }
    host.came = { if host.datagrams.count == 20 { crossing.rig.reactor.soon { crossing.stop() } } }
    crossing.run { for number in UInt8(0)..<20 { guest.send([number]) } }
    #expect(host.datagrams == (UInt8(0)..<20).reversed().map { [$0] })
    #expect(host.port.counts.replayed == 20)
  }

  @Test func `what was changed on its way, cut or made up is dropped and counted, and nobody answers`() throws {
    let crossing = try TwoHosts()
    let (host, guest, ferry) = (crossing.host, crossing.guest, crossing.ferry)
    var answers = 0
    var attacks = 0
    ferry.forth = { packet in
      guard packet[0] == 4 else { return [packet] }
      ferry.back = { packet in
        answers += 1
        return [packet]
      }
      var forged: [[UInt8]] = packet.indices.map { place in
        var changed = packet
        changed[place] ^= 1 << UInt8(place % 8)
        return changed
      }
      forged += packet.indices.dropFirst().map { Array(packet[..<$0]) } + [packet + [0]]
      forged.append([UInt8](repeating: 4, count: 1_300))
      // One byte more makes it another kind, and it is not sealed as such.
      attacks = forged.count
      return forged + [packet]
    }
    host.came = { crossing.stop() }
    let counted = { (counts: DatagramPort.Counts) in
      counts.garbage + counts.unknown + counts.forged + counts.replayed
    }
    var before = 0
    crossing.run {
      before = counted(host.port.counts)
      guest.send([1, 2, 3])
    }
    #expect(host.datagrams == [[1, 2, 3]])
    #expect(attacks == 2 * 36 + 1)
    #expect(counted(host.port.counts) - before == attacks)
    #expect(answers == 0)
  }

  @Test func `noise on the port is dropped, and the way stays`() throws {
    let crossing = try TwoHosts()
    let (host, guest) = (crossing.host, crossing.guest)
    let stranger = try Descriptor.datagrams(at: .loopback(port: 0))
    host.came = { crossing.stop() }
    crossing.run {
      for round in 0..<80 {
        var noise = OpenSSLCrypto.randomBytes(1 + round * 16)
        noise[0] = UInt8(round % 6)
        PacketRelay.send(noise, stranger, host.port.address)
      }
      PacketRelay.send([], stranger, host.port.address)
      guest.send([1])
    }
    #expect(host.datagrams == [[1]])
    let counts = host.port.counts
    #expect(counts.garbage + counts.unknown + counts.probesIgnored == 81)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
    defer { room.deallocate() }
    #expect(try stranger.receive(into: room) == nil)
  }

  @Test func `who moves is followed once the new place has shown that it is there`() throws {
    let crossing = try TwoHosts(quick)
    let (host, guest, ferry) = (crossing.host, crossing.guest, crossing.ferry)
    guest.came = { crossing.stop() }
    crossing.run {
      do { try ferry.move() } catch { Issue.record(error) }
      // Datagrams are lost until one from the guest has arrived from its new address.
      func sendOn() {
        host.send([7])
        crossing.rig.reactor.schedule(after: .milliseconds(5), sendOn)
      }
      sendOn()
    }
    #expect(guest.datagrams.first == [7])
    #expect(host.bytesMax == [1_167])
  }

  @Test func `an authentic packet from elsewhere turns no datagrams to somebody who does not answer`() throws {
    let crossing = try TwoHosts()
    let (host, guest, ferry) = (crossing.host, crossing.guest, crossing.ferry)
    let victim = try Descriptor.datagrams(at: .loopback(port: 0))
    var hits: [[UInt8]] = []
    ferry.forth = { packet in
      guard packet[0] == 4 else { return [packet] }
      // An attacker with a spoofed address.
      PacketRelay.send(packet, victim, host.port.address)
      return []
    }
    host.came = { for number in UInt8(0)..<50 { host.send([number]) } }
    guest.came = { if guest.datagrams.count == 50 { crossing.stop() } }
    crossing.run { guest.send([1]) }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
    defer { room.deallocate() }
    while let (count, _) = try victim.receive(into: room) { hits.append(Array(room[..<count])) }
    #expect(guest.datagrams.count == 50)
    // Some knocks, until the guest knocks from where it is.
    #expect(!hits.isEmpty && hits.count < 4 && hits.allSatisfy { $0.count == 49 })
  }

  @Test func `where nothing gets through any more, the owner hears so, and hears of it again when it does`() throws {
    let crossing = try TwoHosts(quick)
    let (host, guest, ferry) = (crossing.host, crossing.guest, crossing.ferry)
    crossing.run {
      ferry.back = { _ in [] }
      var told = 0
      for end in [host, guest] {
        end.carries = { bytes in
          told += 1
          if told == 2 {
            #expect(bytes == 0)
            #expect(!guest.send([1]))
            ferry.back = { [$0] }
          }
          if told == 4 { crossing.stop() }
        }
      }
    }
    #expect(host.bytesMax == [1_167, 0, 1_167])
    #expect(guest.bytesMax == [1_167, 0, 1_167])
  }

  @Test(arguments: [true, false]) func `a way in one direction only is no way`(_ isForth: Bool) throws {
    let crossing = try TwoHosts(quick)
    if isForth { crossing.ferry.back = { _ in [] } } else { crossing.ferry.forth = { _ in [] } }
    var knocks = 0
    let pass = crossing.ferry.forth
    crossing.ferry.forth = {
      knocks += 1
      if knocks == 10 { crossing.stop() }
      return pass($0)
    }
    crossing.run()
    #expect(crossing.host.bytesMax == [] && crossing.guest.bytesMax == [])
  }

  @Test func `a lost knock is knocked again`() throws {
    var limits = quick
    limits.silenceMax = .seconds(2)
    let crossing = try TwoHosts(limits)
    func losing(_ share: Int) -> ([UInt8]) -> [[UInt8]] {
      var count = 0
      return { packet in
        count += 1
        return count % share == 0 ? [packet] : []
      }
    }
    // Not the same number, or each answer to a knock that comes through might be among the lost ones.
    (crossing.ferry.forth, crossing.ferry.back) = (losing(3), losing(2))
    crossing.run { crossing.stop() }
    #expect(crossing.host.bytesMax == [1_167] && crossing.guest.bytesMax == [1_167])
  }

  @Test func `links of one port do not hear each other's datagrams, and nothing comes after a close`() throws {
    let rig = try Rig()
    let host = try RecordingHost(rig.hostKey, on: rig.reactor)
    try rig.listen(for: host)
    let guests = try (0..<5).map { _ in try RecordingHost(rig.guestKey, on: rig.reactor) }
    var proved = 0
    for (number, guest) in guests.enumerated() {
      guest.knocksAt = host.port.address
      guest.carries = { _ in
        proved += 1
        guard proved == guests.count else { return }
        guests[0].path?.close()
        for (number, guest) in guests.enumerated() { #expect(guest.send([UInt8(number)]) == (number > 0)) }
      }
      guest.came = { Issue.record("guest \(number) heard something") }
      try rig.dial(guest)
    }
    host.came = { if host.datagrams.count == 4 { rig.reactor.stop() } }
    rig.run()
    #expect(host.datagrams.sorted { $0[0] < $1[0] } == [[1], [2], [3], [4]])
  }

  @Test func `IPv4 and IPv6 meet at one socket`() throws {
    let rig = try Rig()
    let any = try #require(SocketAddress("::", port: 0))
    let host = try RecordingHost(rig.hostKey, at: any, on: rig.reactor)
    let guest = try RecordingHost(rig.guestKey, at: any, on: rig.reactor)
    let six = try #require(SocketAddress("::1", port: host.port.address.port))
    let id = HostID(of: rig.hostKey.publicKey)
    guest.answered = { if guest.answers.count == 2 { rig.reactor.stop() } }
    rig.reactor.soon {
      guest.port.probe(id, at: [.loopback(port: six.port)], tag: 4)
      guest.port.probe(id, at: [six], tag: 6)
    }
    rig.run()
    #expect(guest.answers.sorted() == [4, 6])
  }

  @Test func `where its port is taken, another one is found`() throws {
    let rig = try Rig()
    let first = try RecordingHost(rig.hostKey, on: rig.reactor)
    let second = try RecordingHost(rig.guestKey, at: first.port.address, on: rig.reactor)
    #expect(second.port.address.port != first.port.address.port)
  }
}
