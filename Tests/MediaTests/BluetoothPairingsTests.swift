import BluetoothProtocol
import Reactor
import Testing

@testable import Media

/// The host's side of questions about pairing.
@Suite struct BluetoothPairingsTests {
  private final class Scene {
    var commands: [BluetoothCommand] = []
    var events: [BluetoothPairingEvent] = []
    private var last: UInt64 = 100
    // Set as the scene is made, which it refers to.
    private(set) var pairings: BluetoothPairings!
    private let reactor: Reactor

    init() throws {
      reactor = try Reactor()
      pairings = BluetoothPairings(
        on: reactor,
        number: { [unowned self] in
          last += 1
          return last
        }, send: { [unowned self] in commands.append($0) }, report: { [unowned self] in events.append($0) })
    }

    func ask(_ id: UInt32, _ number: UInt32? = 42_117) {
      pairings.asked(PairingQuestion(id: id, device: BluetoothAddress(0x00AA_0100_0042), name: "A", number: number))
    }
  }

  @Test func `A question has a number of the host's, six digits, and one end`() throws {
    let scene = try Scene()
    scene.ask(7)
    scene.ask(7)
    scene.ask(8, nil)
    #expect(
      scene.events == [
        .asked(
          BluetoothPairingQuestion(
            id: 101, device: "00:AA:01:00:00:42", name: "A", number: "042117", timeLeft: PairingQuestion.timeMax)),
        .asked(
          BluetoothPairingQuestion(
            id: 102, device: "00:AA:01:00:00:42", name: "A", number: nil, timeLeft: PairingQuestion.timeMax)),
      ])
    #expect(scene.pairings.answer(101, isAccepted: true) && !scene.pairings.answer(7, isAccepted: true))
    #expect(scene.commands == [.answerPairing(id: 7, isAccepted: true)])
    scene.events = []
    scene.pairings.ended(7, .accepted)
    scene.pairings.ended(7, .declined)
    scene.pairings.ended(9, .accepted)
    #expect(scene.events == [.ended(101, .accepted)])
    #expect(!scene.pairings.answer(101, isAccepted: true))
  }

  @Test func `Questions end with their process, and another one's have other numbers`() throws {
    let scene = try Scene()
    scene.ask(1)
    scene.ask(2)
    scene.events = []
    scene.pairings.endAll()
    #expect(scene.events == [.ended(101, .cancelled), .ended(102, .cancelled)])
    scene.ask(1)
    #expect(!scene.pairings.answer(101, isAccepted: true) && scene.pairings.answer(103, isAccepted: false))
  }

  @Test func `A process that accepts by itself has accepted nothing`() throws {
    let scene = try Scene()
    for id: UInt32 in 1...2 { scene.ask(id) }
    _ = scene.pairings.answer(102, isAccepted: false)
    scene.events = []
    for id: UInt32 in 1...2 { scene.pairings.ended(id, .accepted) }
    #expect(scene.events == [.ended(101, .cancelled), .ended(102, .cancelled)])
  }

  @Test func `A process asks sixteen times in a minute at most, however fast its questions end`() throws {
    let scene = try Scene()
    for id: UInt32 in 1...20 {
      scene.ask(id)
      scene.pairings.ended(id, .cancelled)
    }
    #expect(scene.events.count == 2 * 16)
    #expect(scene.commands == (17...20).map { .answerPairing(id: $0, isAccepted: false) })
  }

  @Test func `A process that asks too much gets a no`() throws {
    let scene = try Scene()
    for id: UInt32 in 1...20 { scene.ask(id) }
    #expect(scene.events.count == 8)
    #expect(scene.commands == (9...20).map { .answerPairing(id: $0, isAccepted: false) })
  }
}
