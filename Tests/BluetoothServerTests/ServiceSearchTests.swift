import BluetoothProtocol
import TestKit
import Testing
import Wire

@testable import BluetoothServer

@Suite struct ServiceSearchTests {
  private static let record = HostRecord(HostID(ID128(high: 7, low: 8)), channel: 22)

  @Test func `The request asks for the class of hosts, and for two attributes`() {
    let service = HostRecord.service
    #expect(
      ServiceSearch().request
        == [6, 0, 0, 0, 30, 0x35, 17, 0x1C] + service + [0xFF, 0xFF, 0x35, 6, 9, 0, 4, 9, 3, 0, 0])
  }

  @Test func `Records are read from one packet, and from packets of which each continues the one before`() throws {
    let others = (1...3).map { HostRecord(HostID(ID128(high: 0, low: $0)), channel: UInt8($0)) }
    let lists = SDP.lists([Self.record] + others)
    var search = ServiceSearch()
    #expect(search.handle(SDP.answer(lists)) == .found([Self.record] + others))
    for pieceBytes in 1...50 {
      var search = ServiceSearch()
      var (rest, step, transaction) = (lists[...], ServiceSearch.Step.failed, UInt16(0))
      while !rest.isEmpty {
        let piece = rest.prefix(pieceBytes)
        rest.removeFirst(piece.count)
        let state: [UInt8] = rest.isEmpty ? [] : [9, UInt8(transaction)]
        step = search.handle(SDP.answer(Array(piece), to: transaction, continuing: state))
        if rest.isEmpty { break }
        transaction += 1
        let end: [UInt8] = [2, 9, UInt8(transaction - 1)]
        guard case .ask(let packet) = step else { break }
        #expect(
          packet[1...2] == [0, UInt8(transaction)] && packet.suffix(3) == end[...] && Int(packet[4]) == packet.count - 5
        )
      }
      #expect(step == (rest.isEmpty ? .found([Self.record] + others) : .failed), "\(pieceBytes)")
    }
  }

  @Test func `An answer without an end is given up`() {
    var search = ServiceSearch()
    var packets = 0
    var transaction: UInt16 = 0
    while case .ask = search.handle(SDP.answer([UInt8](repeating: 0, count: 600), to: transaction, continuing: [1])) {
      packets += 1
      transaction += 1
      if packets > 1_000 { break }
    }
    #expect(packets == ServiceSearch.packetsMax)
  }

  @Test func `A packet of another transaction or kind, cut, too long, or with a state that is too long is no answer`() {
    let lists = SDP.lists([Self.record])
    let good = SDP.answer(lists)
    var kinds: [[UInt8]] = [
      [], SDP.answer(lists, to: 1), good + [0], [1, 0, 0, 0, 2, 0, 3],
      SDP.answer(lists, continuing: [UInt8](repeating: 1, count: 17)),
      // More bytes of lists than there are, and none.
      [7, 0, 0, 0, 3, 0xFF, 0xFF, 0], [7, 0, 0, 0, 2, 0, 0],
    ]
    for kind in UInt8(0)...8 where kind != 7 { kinds.append([kind] + good.dropFirst()) }
    for count in good.indices { kinds.append(Array(good.prefix(count))) }
    for bytes in kinds {
      var search = ServiceSearch()
      #expect(search.handle(bytes) == .failed, "\(bytes)")
    }
  }

  @Test func `Records of strangers are passed over, and those of a host count once and up to a limit`() {
    let stranger = SDP.sequence([9, 0, 1] + SDP.sequence([0x19, 0x11, 0x01]))
    let noText = SDP.record(Self.record, text: [0x09, 0, 1])
    let wrongText = SDP.record(Self.record, text: [0x25, 3, 1, 2, 3])
    let brokenText = SDP.record(Self.record, text: [0x25, 26] + [UInt8](repeating: 0xFF, count: 26))
    let noChannel = SDP.record(Self.record, parameters: [])
    let wrongChannels = [[0x08, 0], [0x08, 31], [0x09, 1, 5], [0x25, 1, 5]].map { (parameters: [UInt8]) in
      SDP.record(Self.record, parameters: parameters)
    }
    let good = SDP.record(Self.record)
    let lists = [stranger, noText, wrongText, brokenText, noChannel, [], [0], [0x35], [8, 1]] + wrongChannels
    for (place, one) in lists.enumerated() {
      // One that is cut takes those after it with it.
      var search = ServiceSearch()
      #expect(search.handle(SDP.answer(SDP.sequence(one))) == .found([]), "\(place)")
      search = ServiceSearch()
      #expect(search.handle(SDP.answer(SDP.sequence(good + good + one))) == .found([Self.record]), "\(place)")
    }
    let crowd = (1...40).map { HostRecord(HostID(ID128(high: 0, low: $0)), channel: 3) }
    var search = ServiceSearch()
    let step = search.handle(SDP.answer(SDP.lists(crowd)))
    #expect(step == .found(Array(crowd.prefix(BluetoothReport.hostsMax))))
  }

  @Test func `Nothing at all, and other values than a sequence, are no records`() {
    for lists: [UInt8] in [[], [0], [0x35], [0x35, 0], [0x37, 0xFF, 0xFF, 0xFF, 0xFF, 1], [0x3F], [0x25, 2, 1, 2]] {
      var search = ServiceSearch()
      #expect(search.handle(SDP.answer(lists)) == .found([]), "\(lists)")
    }
  }

  /// BlueZ's library takes memory without end for the first, and quadratic time for the third.
  @Test func `Answers that are cut, ten thousand levels deep, or of ten thousand parts are read at once`() {
    let deep = (0..<10_000).reduce(into: [UInt8]()) { bytes, _ in
      bytes += [0x36, UInt8((30_000 - bytes.count - 3) >> 8), UInt8((30_000 - bytes.count - 3) & 0xFF)]
    }
    let many = (0..<10_000).reduce(into: [UInt8]()) { $0 += [0x19, UInt8($1 >> 8), UInt8($1 & 0xFF)] }
    let attributes = (0..<6_000).reduce(into: [UInt8]()) { $0 += [9, UInt8($1 >> 8), UInt8($1 & 0xFF), 0x08, 1] }
    let cases: [[UInt8]] = [
      [0x35, 8, 0x35, 6, 9, 0, 4, 0x35, 1, 0x35], SDP.sequence(SDP.sequence([9, 0, 4] + deep)),
      SDP.sequence(SDP.sequence([9, 0, 4] + SDP.sequence(many))), SDP.sequence(SDP.sequence(attributes)),
    ]
    let clock = ContinuousClock()
    let time = clock.measure {
      for lists in cases {
        var search = ServiceSearch()
        var (rest, transaction) = (lists[...], UInt16(0))
        while true {
          let piece = rest.prefix(660)
          rest.removeFirst(piece.count)
          let step = search.handle(SDP.answer(Array(piece), to: transaction, continuing: rest.isEmpty ? [] : [1]))
          transaction += 1
          if case .ask = step { continue }
          #expect(step == .found([]))
          break
        }
      }
    }
    // It takes milliseconds, and the machine may be busy.
    #expect(time < .seconds(2))
  }

  @Test func `Answers with random faults are read without a crash, and have no hosts but those of the answer`() {
    var random = SeededRandom(seed: 41)
    let good = SDP.answer(SDP.lists([Self.record, HostRecord(HostID(ID128(high: 1, low: 2)), channel: 1)]))
    var found = 0
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = .random(in: 0...255, using: &random)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.remove(at: place)
        default: bytes.insert(.random(in: 0...255, using: &random), at: place)
        }
      }
      // Lengths of the packet that are right again.
      if Bool.random(using: &random), bytes.count > 8 {
        (bytes[3], bytes[4]) = (UInt8((bytes.count - 5) >> 8), UInt8((bytes.count - 5) & 0xFF))
      }
      var search = ServiceSearch()
      if case .found(let records) = search.handle(bytes) {
        found += 1
        #expect(records.count <= 2 && records.allSatisfy { (1...30).contains($0.channel) })
      }
    }
    // The faults are small enough to get that far.
    #expect(found > 1_000)
  }
}
