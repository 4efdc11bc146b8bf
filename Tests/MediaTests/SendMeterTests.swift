import Testing

@testable import Media

@Suite struct SendMeterTests {
  @Test("The rate counts times in which bytes waited, and no others")
  func rate() {
    var meter = SendMeter()
    meter.turned(isBlocked: false, sent: 1_000_000) { 0 }
    #expect(meter.bytesPerSecond == nil)
    meter.turned(isBlocked: true, sent: 1_100_000) { 5_000_000_000 }
    // 10 ms for 1,000 bytes, twice.
    meter.turned(isBlocked: true, sent: 1_101_000) { 5_010_000_000 }
    #expect(meter.bytesPerSecond == nil)
    meter.turned(isBlocked: false, sent: 1_102_000) { 5_020_000_000 }
    #expect(meter.bytesPerSecond == 100_000)
    meter.turned(isBlocked: false, sent: 2_000_000) { 9_000_000_000 }
    #expect(meter.bytesPerSecond == 100_000)
  }
}
