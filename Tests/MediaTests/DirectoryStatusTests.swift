import Engine
import Testing
import Wire

@testable import Media

@Suite struct DirectoryStatusTests {
  private static let chat = try! ServiceType("chat")  // Legal ones, by the rules for types.
  private static let file = try! ServiceType("file")
  private static let trouble = Trouble(cause: "It is refused.", cure: "Change it.")
  private static let outage = Trouble(cause: "There is no daemon.", cure: "Start it.")

  private func key(_ name: String) -> ServiceRecord.Key { .init(type: Self.chat, name: name) }

  @Test func `P-ADV-5 A record that is refused fails, and no other of its type`() {
    var status = DirectoryStatus(announces: true)
    #expect(status.standing(of: key("ann")) == nil)
    #expect(status.take(.published(key("ann"), as: "ann")) == .of(Self.chat))
    #expect(status.take(.notPublished(key("ben"), Self.trouble)) == .of(Self.chat))
    #expect(status.standing(of: key("ann")) == .active)
    #expect(status.standing(of: key("ben")) == .failed(Self.trouble, isOutage: false))
    _ = status.take(.published(key("ben"), as: "ben-1"))
    #expect(status.standing(of: key("ben")) == .active)
    status.forget(key("ben"))
    #expect(status.standing(of: key("ben")) == nil && status.standing(of: key("ann")) == .active)
  }

  @Test func `P-BRO-4 A search that is refused fails, no other does, and it can begin after all`() {
    var status = DirectoryStatus(announces: true)
    _ = status.take(.looking(Self.chat))
    #expect(status.take(.notLooking(Self.file, Self.trouble)) == .of(Self.file))
    #expect(status.standing(of: Self.chat) == .active)
    #expect(status.standing(of: Self.file) == .failed(Self.trouble, isOutage: false))
    _ = status.take(.looking(Self.file))
    #expect(status.standing(of: Self.file) == .active)
  }

  @Test func `P-ADV-5 P-BRO-4 An outage fails all there is and all that comes, until each has begun again`() {
    var status = DirectoryStatus(announces: true)
    _ = status.take(.published(key("ann"), as: "ann"))
    _ = status.take(.looking(Self.chat))
    #expect(status.take(.unavailable(Self.outage)) == .everything)
    for standing in [status.standing(of: key("ann")), status.standing(of: key("new")), status.standing(of: Self.chat)] {
      #expect(standing == .failed(Self.outage, isOutage: true))
    }
    #expect(status.take(.available) == .everything)
    #expect(status.standing(of: key("ann")) == nil && status.standing(of: Self.chat) == nil)
    _ = status.take(.published(key("ann"), as: "ann"))
    #expect(status.standing(of: key("ann")) == .active)
  }

  @Test func `Without announcements, nobody at the given addresses is a failure of searches alone`() {
    var status = DirectoryStatus(announces: false)
    #expect(status.standing(of: Self.chat) == .active)
    _ = status.take(.unavailable(Self.outage))
    #expect(status.standing(of: key("ann")) == .active)
    #expect(status.standing(of: Self.chat) == .failed(Self.outage, isOutage: true))
    _ = status.take(.available)
    #expect(status.standing(of: Self.chat) == .active)
  }
}
