import Glibc
import Media
import Reactor
import Testing

@Suite struct ListenerTests {
  @Test func `a listener at port 0 says which port it found, and after its close nobody gets in`() throws {
    let rig = try Rig()
    try rig.listen(for: Recorder())
    let listener = try #require(rig.listener)
    #expect(listener.address.port != 0)
    listener.close()
    let guest = Recorder()
    guest.closed = { rig.reactor.stop() }
    try rig.dial(guest, at: listener.address)
    rig.run()
    #expect(guest.ends.count == 1)
  }

  @Test func `without free descriptors a listener rests, and takes who waited once there are some`() async {
    await #expect(processExitsWith: .success) {
      let reactor = try Reactor()
      let listener = try Listener(at: .loopback(port: 0), on: reactor) { _ in reactor.stop() }
      let guest = try Descriptor.connecting(to: listener.address)
      var hoard: [CInt] = []
      while case let copy = dup(guest.number), copy != -1 { hoard.append(copy) }
      var processorTime = timespec()
      reactor.schedule(after: .milliseconds(250)) {
        precondition(listener.lastError?.name == "EMFILE")
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &processorTime)
        for copy in hoard { close(copy) }
      }
      var before = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
      reactor.run()
      let spent = (processorTime.tv_sec - before.tv_sec) * 1_000 + (processorTime.tv_nsec - before.tv_nsec) / 1_000_000
      precondition(spent < 100, "the listener did not rest: \(spent) ms of processor time")
    }
  }
}
