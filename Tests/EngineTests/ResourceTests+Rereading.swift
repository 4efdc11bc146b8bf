import Testing
import Wire

@testable import Engine

/// Files that the disk has changed while their host was down.
extension ResourceTests {
  @Test(
    "P-RES-5 What the disk has changed of a file during a restart comes again, and the rest does not",
    arguments: [(0, 0), (70_000, 0), (163_839, 131_072), (nil, 163_840)] as [(Int?, UInt64)])
  func damagedOnDisk(place: Int?, resumes offset: UInt64) throws {
    var seats = try gather(isDurable: true)
    seats[1].host.program.storedMax = 10
    try seats[0].offer("file", pattern(900_000), to: seats[1])
    network.run(.seconds(1))
    #expect(seats[1].file("file")?.count == 163_840)
    network.clear()
    if let place { seats[1].host.program.files["file"]?[place] ^= 1 }
    seats[1].host.program.storedMax = .max
    seats[1] = try network.restart(seats[1])
    network.run(.seconds(30))
    #expect(seats[1].host.program.rehashedFrom == [0])
    #expect(seats[1].host.program.storedFrom.first == offset)
    #expect(seats[1].file("file") == pattern(900_000))
    #expect(seats[0].takeFlows().last == "file ended: none")
    #expect(seats[1].takeFlows().last == "file ended: none")
  }

  @Test(
    "P-RES-5 A whole file that the disk has changed before it was kept is not kept as it is", arguments: [5, 99_999])
  func damagedBeforeKeeping(place: Int) throws {
    var seats = try gather(isDurable: true)
    seats[1].host.program.isKeeping = nil
    try seats[0].offer("file", pattern(100_000), to: seats[1])
    network.run()
    seats[1].host.program.files["file"]?[place] ^= 1
    seats[1].host.program.isKeeping = true
    seats[1] = try network.restart(seats[1])
    network.run(.seconds(30))
    #expect(seats[1].file("file") == pattern(100_000))
    #expect(seats[1].host.program.storedFrom.first == (place < 65_536 ? 0 : 98_304))
    #expect(seats[0].takeFlows().last == "file ended: none")
    #expect(seats[1].takeFlows().last == "file ended: none")
  }

  @Test("Nothing is requested of a restored file before all of it was read again")
  func rereading() throws {
    var seats = try gather(isDurable: true)
    seats[1].host.program.storedMax = 300
    try seats[0].offer("file", pattern(5_400_000), to: seats[1])
    network.run(.seconds(1))
    #expect(seats[1].file("file")?.count == 300 * 16_384)
    seats[1].host.program.storedMax = .max
    seats[1] = try network.restart(seats[1])
    network.run(.seconds(30))
    #expect(seats[1].host.program.rehashedFrom == [0, 4 << 20])
    #expect(seats[1].host.program.storedFrom.first == 300 * 16_384)
    #expect(seats[1].file("file") == pattern(5_400_000))
  }
}
