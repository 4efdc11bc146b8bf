import Testing

@testable import Nearby

@Suite struct AddressLeasesTests {
  private func message(_ kind: UInt8, from device: UInt8, _ options: [UInt8] = [], has: [UInt8] = [0, 0, 0, 0])
    -> [UInt8]
  {
    var bytes: [UInt8] = [1, 1, 6, 0, 0xDE, 0xAD, 0xBE, device, 0, 0, 0x80, 0] + has
    bytes += [UInt8](repeating: 0, count: 12) + [2, 0, 0, 0, 1, device] + [UInt8](repeating: 0, count: 202)
    return bytes + [99, 130, 83, 99, 53, 1, kind] + options + [255]
  }

  private func request(_ kind: UInt8, from device: UInt8, _ options: [UInt8] = [], has: [UInt8] = [0, 0, 0, 0]) throws
    -> AddressRequest
  {
    try #require(AddressRequest(message(kind, from: device, options, has: has)))
  }

  private func kind(_ answer: [UInt8]?) -> UInt8? { answer?[242] }
  private func address(_ answer: [UInt8]?) -> [UInt8]? { answer.map { Array($0[16..<20]) } }

  @Test func `A device gets an address, keeps it, and gives it back`() throws {
    var leases = AddressLeases()
    let answer = leases.answer(try request(1, from: 1), at: 0)
    let offer = try #require(answer)
    #expect(kind(offer) == 2 && address(offer) == [192, 168, 49, 10] && offer.count >= 300)
    // The exchange, the flags and the device are the client's; the server names itself, the time and the mask.
    #expect(
      Array(offer[4..<8]) == [0xDE, 0xAD, 0xBE, 1] && offer[10] == 0x80 && Array(offer[28..<34]) == [2, 0, 0, 0, 1, 1])
    #expect(
      Array(offer[240..<264]) == [
        53, 1, 2, 54, 4, 192, 168, 49, 1, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 255, 0, 0,
      ])
    let wanted: [UInt8] = [50, 4, 192, 168, 49, 10, 54, 4, 192, 168, 49, 1]
    #expect(kind(leases.answer(try request(3, from: 1, wanted), at: 1)) == 5)
    // Renewed by the address that it has, and the same after it was away.
    #expect(kind(leases.answer(try request(3, from: 1, has: [192, 168, 49, 10]), at: 1_800)) == 5)
    #expect(address(leases.answer(try request(1, from: 1), at: 2_000)) == [192, 168, 49, 10])
    #expect(address(leases.answer(try request(1, from: 2), at: 2_000)) == [192, 168, 49, 11])
    #expect(leases.answer(try request(7, from: 1, has: [192, 168, 49, 10]), at: 2_001) == nil && leases.count == 1)
    #expect(address(leases.answer(try request(1, from: 3), at: 2_002)) == [192, 168, 49, 10])
  }

  @Test
  func `An address that is another's, or of another network, is refused; another server's client is not answered`()
    throws
  {
    var leases = AddressLeases()
    _ = leases.answer(try request(1, from: 1), at: 0)
    #expect(kind(leases.answer(try request(3, from: 2, [50, 4, 192, 168, 49, 10]), at: 0)) == 6)
    #expect(kind(leases.answer(try request(3, from: 1, [50, 4, 10, 0, 0, 5]), at: 0)) == 6)
    #expect(leases.answer(try request(3, from: 1, [54, 4, 10, 0, 0, 1]), at: 0) == nil)
    // The device gets the address that it requests if that is free.
    #expect(address(leases.answer(try request(1, from: 4, [50, 4, 192, 168, 49, 77]), at: 0)) == [192, 168, 49, 77])
    #expect(address(leases.answer(try request(1, from: 5, [50, 4, 192, 168, 49, 1]), at: 0)) == [192, 168, 49, 11])
  }

  @Test
  func `A stranger who takes all addresses stops newcomers until the offers are over, and disturbs nobody who has one`()
    throws
  {
    var leases = AddressLeases()
    _ = leases.answer(try request(1, from: 255), at: 0)
    #expect(kind(leases.answer(try request(3, from: 255, has: [192, 168, 49, 10]), at: 0)) == 5)
    for device in 0..<199 { #expect(leases.answer(try request(1, from: UInt8(device)), at: 0) != nil) }
    #expect(leases.answer(try request(1, from: 220), at: 59) == nil && leases.count == 200)
    #expect(kind(leases.answer(try request(3, from: 255, has: [192, 168, 49, 10]), at: 59)) == 5)
    #expect(leases.answer(try request(1, from: 220), at: 61) != nil && leases.count == 2)
  }

  @Test func `A device has an address and a name once it has taken the offer, and as long as its lease lasts`() throws {
    var leases = AddressLeases()
    let device: [UInt8] = [2, 0, 0, 0, 1, 1]
    let named: [UInt8] = [12, 7] + Array("Pixel-7".utf8)
    _ = leases.answer(try request(1, from: 1, named), at: 0)
    #expect(leases.holding(of: device, at: 0) == nil)
    _ = leases.answer(try request(3, from: 1, named + [50, 4, 192, 168, 49, 10]), at: 1)
    var holding = try #require(leases.holding(of: device, at: 2))
    #expect(holding.address == [192, 168, 49, 10] && holding.name == "Pixel-7")
    // A renewal without a name leaves the one that it had.
    _ = leases.answer(try request(3, from: 1, has: [192, 168, 49, 10]), at: 1_000)
    holding = try #require(leases.holding(of: device, at: 1_000 + 3_599))
    #expect(holding.name == "Pixel-7")
    #expect(
      leases.holding(of: device, at: 1_000 + 3_600) == nil && leases.holding(of: [2, 0, 0, 0, 1, 2], at: 2) == nil)
  }

  @Test func `A host name is short and printable ASCII, or there is none`() throws {
    func name(_ bytes: [UInt8]) throws -> String? { try request(1, from: 1, [12, UInt8(bytes.count)] + bytes).name }
    #expect(try name(Array("Ada's phone".utf8)) == "Ada's phone" && name(Array("phone\0".utf8)) == "phone")
    for bad in ["", "\0", "a\u{1B}[31m", "a\nb", "Zoë", "\u{202E}evil", String(repeating: "a", count: 64)] {
      #expect(try name(Array(bad.utf8)) == nil, "\(bad)")
    }
    #expect(try name([0x61, 0xFF]) == nil && request(1, from: 1).name == nil)
  }

  @Test func `Cut and malformed messages are nothing`() {
    let good = message(1, from: 1, [50, 4, 192, 168, 49, 10])
    for count in 0..<good.count - 1 {
      let cut = AddressRequest(Array(good.prefix(count)))
      // The kind stands first, so that a message which ends between options is whole.
      #expect(cut == nil || count == 243)
    }
    for (place, value): (Int, UInt8) in [
      (0, 2), (1, 6), (2, 16), (236, 0), (24, 10), (241, 2), (242, 9), (244, 3), (244, 200),
    ] {
      var bytes = good
      bytes[place] = value
      #expect(AddressRequest(bytes) == nil, "\(place)")
    }
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      var bytes = good
      for _ in 0..<4 {
        bytes[Int.random(in: 240..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if let request = AddressRequest(bytes) {
        var leases = AddressLeases()
        #expect((leases.answer(request, at: 0)?.count ?? 300) >= 300)
      }
    }
  }
}
