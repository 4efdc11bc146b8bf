import Testing

@testable import vicinity

@Suite struct ProgressBarTests {
  private func line(_ bytes: UInt64, of size: UInt64?, rate: UInt64 = 0, left: Int? = nil, columns: Int = 80) -> String
  {
    ProgressBar(
      name: "photo.jpg",
      progress: Progress(bytes: bytes, size: size, bytesPerSecond: rate, timeLeft: left.map { .seconds($0) }),
      isUnicode: false
    ).line(columns: columns)
  }

  @Test func `It shows what, how far, how fast and how long still`() {
    #expect(
      line(3_400_000, of: 5_500_000, rate: 1_200_000, left: 2, columns: 100)
        == "photo.jpg     [##################------------]   61 %  3.40 MB of 5.50 MB  1.20 MB/s  2 s left")
    #expect(line(0, of: 100).contains("[" + String(repeating: "-", count: 30) + "]    0 %"))
  }

  @Test func `It is full with the last byte, and not before`() {
    #expect(line(999_999, of: 1_000_000).contains(" 99 %"))
    #expect(line(1_000_000, of: 1_000_000, rate: 5, left: 3).contains("100 %"))
    #expect(!line(1_000_000, of: 1_000_000, rate: 5, left: 3).contains("left"))
    #expect(line(0, of: 0).contains("100 %"))
    #expect(line(5, of: 3).contains("100 %"))
  }

  @Test func `It counts if the size is unknown`() {
    #expect(line(2_000, of: nil, rate: 1_000) == "photo.jpg  2.00 kB  1.00 kB/s")
  }

  @Test func `It is never wider than the window, whatever the name`() {
    for name in ["a", String(repeating: "日", count: 100), "evil\u{1B}[2J\nname", ""] {
      for columns in 1...200 {
        for size in [nil, 10_000_000_000 as UInt64] {
          let progress = Progress(bytes: 9_999, size: size, bytesPerSecond: 123_456_789, timeLeft: .seconds(9_999))
          let line = ProgressBar(name: name, progress: progress).line(columns: columns)
          #expect(DisplayWidth.of(line) <= columns, "\(columns): \(line)")
          #expect(!line.contains("\u{1B}") && !line.contains("\n"))
        }
      }
    }
  }

  @Test func `A meter tells a rate now and then`() {
    let start = ContinuousClock.now
    var meter = Meter(at: start)
    #expect(meter.add(10, at: start + .milliseconds(10)) == nil)
    #expect(meter.add(90, at: start + .milliseconds(500)) == Progress(bytes: 100, size: nil, bytesPerSecond: 200))
    #expect(meter.add(1, at: start + .milliseconds(600)) == nil)
    #expect(meter.bytes == 101)
  }
}
