import Testing

@testable import Engine

@Suite("Tables")
struct OrderedDictionaryTests {
  /// The same as the dictionary in the simplest form.
  private struct Model {
    var entries: [(key: UInt64, value: Int)] = []

    subscript(key: UInt64) -> Int? {
      get { entries.first { $0.key == key }?.value }
      set {
        let place = entries.firstIndex { $0.key == key }
        switch (place, newValue) {
        case (let place?, let value?): entries[place].value = value
        case (let place?, nil): entries.remove(at: place)
        case (nil, let value?): entries.append((key, value))
        case (nil, nil): break
        }
      }
    }
  }

  @Test("A table holds its entries in order, whatever the operations", arguments: [4, 12, 60, 400] as [UInt64])
  func model(keys: UInt64) {
    var table = OrderedDictionary<UInt64, Int>()
    var model = Model()
    var random: UInt64 = keys
    func next(_ bound: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % bound
    }
    for step in 0..<20_000 {
      // Now more are added, now more are taken away.
      let adds = step / 1_000 % 2 == 0 ? 7 : 3
      // Keys that are alike in their low bits, too.
      let key = next(keys) << (next(2) * 32)
      switch next(10) {
      case 0:
        #expect(table.removeValue(forKey: key) == model[key])
        model[key] = nil
      case 1:
        table[key]? += 1
        if let value = model[key] { model[key] = value + 1 }
      case 2:
        table[key, default: -1] += step
        model[key] = (model[key] ?? -1) + step
      case 3 where next(40) == 0:
        #expect(table.removeFirst()?.key == model.entries.first?.key)
        if !model.entries.isEmpty { model.entries.removeFirst() }
      case let draw:
        table[key] = draw < adds ? step : nil
        model[key] = draw < adds ? step : nil
      }
      #expect(table[key] == model[key] && table.contains(key) == (model[key] != nil))
      #expect(table.count == model.entries.count && table.isEmpty == model.entries.isEmpty)
      if step % 97 == 0 {
        #expect(table.keys == model.entries.map(\.key) && table.values == model.entries.map(\.value))
        for other in 0..<keys { #expect(table[other] == model[other]) }
      }
    }
    var walked: [UInt64] = []
    table.forEach { key, _ in walked.append(key) }
    #expect(walked == model.entries.map(\.key))
  }
}
