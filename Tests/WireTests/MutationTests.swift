import Testing
import Wire

@Suite struct MutationTests {
  @Test("200 000 damaged frames never trap, and what decodes encodes to the same bytes")
  func mutations() throws {
    var random = SplitMix(state: 0x5eed)
    let decoders = Dictionary(Sample.all.map { ($0.type, $0.recoded) }) { first, _ in first }
    let frames = Vector.all.map(\.frame)
    var decoded = 0
    for _ in 0..<200_000 {
      var bytes = frames[random.below(frames.count)]
      for _ in 0...random.below(4) { random.damage(&bytes) }
      do throws(WireError) {
        guard let head = try bytes.head(), let decode = decoders[head.type] else { continue }
        let recoded = try decode(Array(bytes[head.body]))
        guard recoded == Array(bytes[..<head.end]) else {
          Issue.record("\(head.type) decodes but encodes to other bytes: \(bytes)")
          return
        }
        decoded += 1
      } catch {
        if error.description.isEmpty { Issue.record("an error without a sentence") }
      }
    }
    // The damage must leave enough frames whole to test decoded ones, too.
    #expect(decoded > 1_000)
  }

  /// A small generator, so that a failure repeats.
  struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var z = state
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func damage(_ bytes: inout [UInt8]) {
      guard !bytes.isEmpty else { return }
      let place = below(bytes.count)
      switch below(6) {
      case 0: bytes[place] ^= 1 << UInt8(below(8))
      case 1: bytes[place] = UInt8(truncatingIfNeeded: next())
      case 2: bytes[place] = [0x00, 0x01, 0x7f, 0x80, 0xff][below(5)]
      case 3: bytes.remove(at: place)
      case 4: bytes.insert(UInt8(truncatingIfNeeded: next()), at: place)
      default: bytes.removeSubrange(place...)
      }
    }
  }
}
