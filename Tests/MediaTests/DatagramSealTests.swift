import Testing
import Wire

@testable import Media

@Suite struct DatagramSealTests {
  /// Keys that any other program can make: the bytes 0 to 71.
  private let keys = (UInt8(0)..<72).map(\.self)

  private func seal(_ payload: [UInt8], kind: UInt8, counter: UInt64, isClient: Bool) -> [UInt8] {
    let direction = DatagramKeys(keys, isClient: isClient).sending
    let words = [direction.id, counter].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
    }
    let header = [kind] + words
    let seal = DatagramSeal(direction, opens: false)
    var out = [UInt8](repeating: 0, count: payload.count + 16)
    out.withUnsafeMutableBytes { out in
      header.withUnsafeBytes { header in
        payload.withUnsafeBytes { seal.seal($0, header: header, counter: counter, into: out) }
      }
    }
    return header + out
  }

  @Test func `the vectors of the protocol hold`() throws {
    let challenge = [0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7].map(UInt8.init)
    #expect(seal(Array("hello".utf8), kind: 4, counter: 258, isClient: true) == Golden.packet("datagram"))
    #expect(
      seal(challenge + challenge.map { $0 - 0x50 }, kind: 3, counter: 1, isClient: false) == Golden.packet("knock"))
  }

  @Test func `what one end seals only the other opens, and only as it was`() throws {
    let (here, there) = (DatagramKeys(keys, isClient: true), DatagramKeys(keys, isClient: false))
    #expect(here.sending.id == there.receiving.id && here.receiving.id == there.sending.id)
    let packet = try #require(Golden.packet("datagram"))
    func open(_ packet: [UInt8], _ direction: DatagramKeys.Direction, counter: UInt64 = 258) -> [UInt8]? {
      let seal = DatagramSeal(direction, opens: true)
      var out = [UInt8](repeating: 0, count: 1_200)
      let count = out.withUnsafeMutableBytes { out in
        packet.withUnsafeBytes { packet in
          let header = UnsafeRawBufferPointer(rebasing: packet[..<17])
          return seal.open(UnsafeRawBufferPointer(rebasing: packet[17...]), header: header, counter: counter, into: out)
        }
      }
      return count.map { Array(out[..<$0]) }
    }
    #expect(open(packet, there.receiving) == Array("hello".utf8))
    #expect(open(packet, here.receiving) == nil)
    #expect(open(packet, there.receiving, counter: 259) == nil)
    for place in packet.indices {
      var changed = packet
      changed[place] ^= 0x80
      #expect(open(changed, there.receiving) == nil)
    }
    for count in 17..<packet.count { #expect(open(Array(packet[..<count]), there.receiving) == nil) }
  }

  @Test func `a counter is good once, and not when it is 128 behind`() {
    var window = ReplayWindow()
    #expect(!window.isFresh(0))
    for counter: UInt64 in [1, 3, 2, 200, 73, 199] {
      #expect(window.isFresh(counter))
      window.use(counter)
      #expect(!window.isFresh(counter))
    }
    #expect(!window.isFresh(72) && window.isFresh(74) && !window.isFresh(3))
    window.use(1_000)
    #expect(!window.isFresh(200) && !window.isFresh(872) && window.isFresh(873) && window.isFresh(999))
    window.use(.max)
    #expect(!window.isFresh(.max) && window.isFresh(.max - 127) && !window.isFresh(.max - 128))
  }

  @Test func `a window agrees with a plain memory of what was used`() {
    var window = ReplayWindow()
    var used: Set<UInt64> = [0]
    var newest: UInt64 = 0
    var state: UInt64 = 88_172_645_463_325_252
    for _ in 0..<20_000 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let counter = (newest + state % 300) > 200 ? newest + state % 300 - 200 : state % 300
      let isFresh = !used.contains(counter) && newest < counter + 128
      #expect(window.isFresh(counter) == isFresh)
      guard isFresh else { continue }
      window.use(counter)
      used.insert(counter)
      newest = max(newest, counter)
    }
  }
}
