import Testing
import Wire

@testable import Engine

/// Files that the disk has changed while their host was down.
extension ResourceTests {
  @Test(
    "P-RES-5 The part of a file that the disk changed during a restart is sent again, and the rest is not",
    arguments: [(0, 0), (70_000, 0), (163_839, 131_072), (nil, 163_840)] as [(Int?, UInt64)])
  func damagedOnDisk(place: Int?, resumes offset: UInt64) throws {
    var peers = try gather(isDurable: true)
    peers[1].host.program.storedMax = 10
    try peers[0].offer("file", pattern(900_000), to: peers[1])
    network.run(.seconds(1))
    #expect(peers[1].file("file")?.count == 163_840)
    network.clear()
    if let place { peers[1].host.program.files["file"]?[place] ^= 1 }
    peers[1].host.program.storedMax = .max
    peers[1] = try network.restart(peers[1])
    network.run(.seconds(30))
    #expect(peers[1].host.program.rehashedFrom == [0])
    #expect(peers[1].host.program.storedFrom.first == offset)
    #expect(peers[1].file("file") == pattern(900_000))
    #expect(peers[0].takeFlows().last == "file ended: none")
    #expect(peers[1].takeFlows().last == "file ended: none")
  }

  @Test(
    "P-RES-5 A whole file that the disk has changed before it was kept is not kept as it is", arguments: [5, 99_999])
  func damagedBeforeKeeping(place: Int) throws {
    var peers = try gather(isDurable: true)
    peers[1].host.program.isKeeping = nil
    try peers[0].offer("file", pattern(100_000), to: peers[1])
    network.run()
    peers[1].host.program.files["file"]?[place] ^= 1
    peers[1].host.program.isKeeping = true
    peers[1] = try network.restart(peers[1])
    network.run(.seconds(30))
    #expect(peers[1].file("file") == pattern(100_000))
    #expect(peers[1].host.program.storedFrom.first == (place < 65_536 ? 0 : 98_304))
    #expect(peers[0].takeFlows().last == "file ended: none")
    #expect(peers[1].takeFlows().last == "file ended: none")
  }

  @Test("Nothing is requested of a restored file before all of it was read again")
  func rereading() throws {
    var peers = try gather(isDurable: true)
    peers[1].host.program.storedMax = 300
    try peers[0].offer("file", pattern(5_400_000), to: peers[1])
    network.run(.seconds(1))
    #expect(peers[1].file("file")?.count == 300 * 16_384)
    peers[1].host.program.storedMax = .max
    peers[1] = try network.restart(peers[1])
    network.run(.seconds(30))
    #expect(peers[1].host.program.rehashedFrom == [0, 4 << 20])
    #expect(peers[1].host.program.storedFrom.first == 300 * 16_384)
    #expect(peers[1].file("file") == pattern(5_400_000))
  }
}
