import Testing

@testable import Reactor

@Suite struct NeighboursTests {
  /// A message as the kernel writes it: its header, the neighbour, the address behind another attribute.
  private func told(_ address: [UInt8], family: UInt8, interface: UInt8 = 3, state: UInt8, type: UInt8 = 28) -> [UInt8]
  {
    let neighbour: [UInt8] = [family, 0, 0, 0, interface, 0, 0, 0, state, 0, 0, 1]
    let attributes: [UInt8] = [6, 0, 2, 0, 1, 2, 0, 0] + [UInt8(4 + address.count), 0, 1, 0] + address
    let count = 16 + neighbour.count + attributes.count
    return [UInt8(count), 0, 0, 0, type, 0, 2, 0] + [UInt8](repeating: 0, count: 8) + neighbour + attributes
  }

  private let linkLocal: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 13) + [2]

  private func address(_ text: String) throws -> SocketAddress { try #require(SocketAddress(text, port: 0)) }

  @Test func `A neighbour that has answered is known by both families, a link-local address with its interface`() throws
  {
    var answers: [SocketAddress: Bool] = [:]
    let piece =
      told([10, 77, 0, 2], family: 2, state: 2) + told([10, 77, 0, 3], family: 2, state: 32)
      + told(linkLocal, family: 10, state: 8) + told(linkLocal, family: 10, interface: 4, state: 1)
    #expect(Neighbours.read(piece, into: &answers))
    #expect(
      answers == [
        try address("10.77.0.2"): true, try address("10.77.0.3"): false, try address("fe80::2%3"): true,
        try address("fe80::2%4"): false,
      ])
    // NLMSG_DONE.
    #expect(!Neighbours.read(told([], family: 0, state: 0, type: 3), into: &answers))
  }

  @Test func `An answer that is cut off or damaged anywhere is read as far as it goes`() {
    let piece = told([10, 77, 0, 2], family: 2, state: 2) + told(linkLocal, family: 10, state: 8)
    for count in 0..<piece.count {
      var answers: [SocketAddress: Bool] = [:]
      _ = Neighbours.read(Array(piece.prefix(count)), into: &answers)
      #expect(answers.count <= 2)
    }
    for place in piece.indices {
      for value: UInt8 in [0, 1, 7, 255] {
        var (damaged, answers): ([UInt8], [SocketAddress: Bool]) = (piece, [:])
        damaged[place] = value
        _ = Neighbours.read(damaged, into: &answers)
        #expect(answers.count <= 2)
      }
    }
  }

  @Test func `The kernel says what it knows`() {
    #expect(throws: Never.self) { try Neighbours.answers() }
  }
}
