import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import vicinity

/// Properties that only a gateway in a process of its own shows.
@Suite(.timeLimit(.minutes(3)), .serialized) struct GatewayProcessTests {
  @Test("P-STR-2 P-RES-4 A large file goes through two gateways, as a resource and as a stream, in little memory")
  func memory() throws {
    let folder = TemporaryFolder()
    let (fileBytes, bytesMax) = (256 << 20, 32 << 20)
    // It lies nowhere on the disk.
    let file = try folder.write([], to: "large")
    #expect(truncate(file, fileBytes) == 0)
    let ada = try GatewayClient("ada", in: folder, ["--discovery", "static"])
    let bob = try GatewayClient("bob", in: folder, ["--discovery", "static"])
    try ada.connect(with: bob)
    for client in [ada, bob] { try client.resetPeak() }
    let before = try [ada, bob].map { try $0.memoryPeak }
    func expectLittle(_ what: String) throws {
      for (client, before) in zip([ada, bob], before) {
        let more = try client.memoryPeak - before
        #expect(
          more < bytesMax, "\(what): \(more >> 20) MiB more than before (\(client === ada ? "sends" : "receives"))")
      }
    }
    let made = try ada.ask("POST", "\(ada.path)/resources", ["name": "large", "to": .text(bob.peer)])
    try ada.upload(file, to: made["content"]?.text ?? "")
    let came = try bob.wait(in: "\(bob.path)/resources") { $0["state"] == "complete" }
    #expect(came["size"] == .number(fileBytes))
    try bob.download(came["content"]?.text ?? "", to: "\(folder.path)/had")
    try expectLittle("a resource")
    #expect(try FileManager.default.attributesOfItem(atPath: "\(folder.path)/had")[.size] as? Int == fileBytes)
    try FileManager.default.removeItem(atPath: "\(folder.path)/had")

    let stream = try ada.ask("POST", "\(ada.path)/streams", ["name": "large", "to": .text(bob.peer)])
    let other = try bob.wait(in: "\(bob.path)/streams") { $0["name"] == "large" }
    let reader = try bob.begin(
      ["-o", "/dev/null", "-w", "%{size_download}"], "\(bob.path)/streams/\(other["id"]?.text ?? "")/bytes")
    try ada.upload(file, to: "\(ada.path)/streams/\(stream["id"]?.text ?? "")/bytes")
    #expect(try reader.ended(within: 110) == 0 && reader.out == "\(fileBytes)", "\(reader.out) \(reader.err)")
    try expectLittle("a stream")
  }

  @Test("P-ADV-5 P-BRO-4 A missing Avahi is reported with what to do, and all else works")
  func withoutAvahi() throws {
    let folder = TemporaryFolder()
    let nowhere = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.path)/none"]
    let ada = try GatewayClient("ada", in: folder, environment: nowhere)
    let bob = try GatewayClient("bob", in: folder, environment: nowhere)
    for client in [ada, bob] {
      var told = try client.ask("GET", "/v1/gateway")["discovery"]
      while told?["state"] == "available" { told = try client.ask("GET", "/v1/gateway")["discovery"] }
      #expect(told?["state"] == "unavailable" && told?["cause"]?.text?.contains("D-Bus") == true, "\(told?.line ?? "")")
      #expect(told?["cure"]?.text?.contains("apt install") == true, "\(told?.line ?? "")")
    }
    #expect(try ada.ask("POST", "/v1/advertisers", ["serviceType": "chat"])["id"]?.text?.isEmpty == false)
    #expect(try ada.ask("POST", "/v1/browsers", ["serviceType": "chat"])["id"]?.text?.isEmpty == false)
    try ada.connect(with: bob)
    try ada.ask("POST", "\(ada.path)/messages", "hello")
    let came = try bob.wait(in: "\(bob.path)/messages") { $0["body"]?.text?.contains("hello") == true }
    #expect(came["from"] == .text(ada.peer))
  }

  @Test("P-BRO-5 P-SES-1 A gateway that says no more is not connected in ten seconds, lost, and found again")
  func vanishing() throws {
    let folder = TemporaryFolder()
    let ada = try GatewayClient("ada", in: folder, ["--discovery", "static"])
    let bob = try GatewayClient("bob", in: folder, ["--discovery", "static", "--at", "127.0.0.1:\(ada.port)"])
    try ada.ask("POST", "/v1/advertisers", ["serviceType": "chat"])
    let found = try bob.ask("POST", "/v1/browsers", ["serviceType": "chat"])["found"]?.text ?? ""
    _ = try bob.wait(in: found) { $0["id"] == .text(ada.peer) }
    try ada.connect(with: bob)
    // A stopped process closes nothing, as in a power cut.
    ada.program.signal(SIGSTOP)
    let stopped = ContinuousClock.now
    let gone = try bob.wait(in: "\(bob.path)/members") { $0["state"] == "notConnected" }
    #expect(gone["reason"] == "lost", "\(gone.line)")
    _ = try bob.wait(in: "/v1/events") { $0["event"] == "lost" }
    #expect(ContinuousClock.now - stopped < .seconds(12))
    #expect(try bob.ask("GET", found)["items"] == [])
    ada.program.signal(SIGCONT)
    _ = try bob.wait(in: found) { $0["id"] == .text(ada.peer) }
  }
}
