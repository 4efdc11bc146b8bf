import Engine
import Wire

extension World {
  func startMalice(_ host: SimHost) {}
  func act(maliciously host: SimHost) {}
  func maliciousOpened(_ host: SimHost, _ link: Link, _ side: Int) {}
  func maliciousReceived(_ bytes: [UInt8], _ host: SimHost, _ link: Link, _ side: Int) {}
}
