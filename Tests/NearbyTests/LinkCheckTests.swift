import Testing
import Wire

@testable import Nearby

@Suite struct LinkCheckTests {
  private func link(
    _ roundTrip: Duration?, loss: Double? = 0, bytesSent: UInt64 = 1 << 20, medium: String = "lan", relay: HostID? = nil
  ) -> HostLink {
    HostLink(
      host: HostID(ID128(high: 1, low: 2)), medium: medium, relay: relay,
      address: roundTrip.map { _ in "10.0.0.5:7777" },
      isStandby: false, roundTrip: roundTrip, bytesPerSecond: 1, bytesSent: bytesSent, bytesReceived: bytesSent,
      loss: loss)
  }

  @Test("Without links whose quality is measured the doctor says nothing of them")
  func none() {
    #expect(LinkCheck.findings([]).isEmpty)
    #expect(LinkCheck.findings([link(.milliseconds(300), medium: "bluetooth"), link(nil)]).isEmpty)
  }

  @Test("Links that are quick and whole are good, with their longest round trip")
  func good() {
    let findings = LinkCheck.findings([link(.microseconds(310)), link(.milliseconds(12), loss: 0.01)])
    #expect(findings.map(\.state) == [.good])
    #expect(findings.first?.says == "The links to 1 other host have a round trip of 12 ms at most.")
    // One lost packet of a few.
    #expect(LinkCheck.findings([link(.milliseconds(1), loss: 0.3, bytesSent: 5_000)]).map(\.state) == [.good])
  }

  @Test("A link that is slow or loses much is named, with the cure")
  func poor() {
    let findings = LinkCheck.findings([
      link(.milliseconds(180)), link(.milliseconds(2), loss: 0.05), link(.milliseconds(1)),
    ])
    #expect(findings.map(\.state) == [.doubtful, .doubtful])
    #expect(findings[0].says.contains("(10.0.0.5:7777) is slow, with a round trip of 180 ms."))
    #expect(findings[1].says.contains("loses 5 % of its bytes."))
    #expect(findings.allSatisfy { $0.cure?.contains("Wi-Fi") == true })
  }

  @Test("P-SES-8 A link through a relay has the time of two legs, and is named with the relay where it takes longer")
  func relayed() {
    let relay = HostID(ID128(high: 3, low: 4))
    #expect(LinkCheck.findings([link(.milliseconds(180), medium: "relay", relay: relay)]).map(\.state) == [.good])
    let findings = LinkCheck.findings([link(.milliseconds(400), medium: "relay", relay: relay)])
    #expect(findings.first?.says.contains("through the relay \(relay) to the host") == true)
    #expect(findings.first?.cure?.contains("in common") == true)
  }
}
