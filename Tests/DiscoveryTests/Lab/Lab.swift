import Media
import Testing

@testable import lab_rig

/// Hosts of the laboratory with watchers on them, all gone in the end.
@Laboratory
final class Lab {
  let rig: Rig
  var hosts: [LabHost] { rig.hosts }
  private var watchers: [Watcher] = []
  private var networkWatchers: [NetworkWatcher] = []

  private init(_ count: Int) async throws { rig = try await Rig.start(hosts: count) }

  /// All of it stays on the laboratory's thread, also after it has waited for a loop on a host: a pool's thread that
  /// such a loop wakes it on could be created there, and would then run the next tests on that host.
  static func play(_ count: Int = 1, _ act: @Laboratory (Lab) async throws -> Void) async {
    await withTaskExecutorPreference(Laboratory.reactor) {
      do {
        let lab = try await Lab(count)
        do {
          try await act(lab)
        } catch {
          Issue.record(error)
        }
        for watcher in lab.watchers { await watcher.stop() }
        for watcher in lab.networkWatchers { await watcher.stop() }
        try await lab.rig.close()
      } catch {
        Issue.record(error)
      }
    }
  }

  /// The first host, whose daemon keeps to the loopback.
  func loner(_ configuration: String = "") async throws -> LabHost {
    try await hosts[0].stopAvahi()
    try await hosts[0].startAvahi("allow-interfaces=lo\n" + configuration)
    return hosts[0]
  }

  func watcher(on host: LabHost, _ limits: AvahiDirectory.Limits = .init()) throws -> Watcher {
    let watcher = try Watcher.start(on: host.process, limits)
    watchers.append(watcher)
    return watcher
  }

  /// One on each of the two hosts.
  func pair() throws -> (Watcher, Watcher) { (try watcher(on: hosts[0]), try watcher(on: hosts[1])) }

  func networkWatcher(on host: LabHost) throws -> NetworkWatcher {
    let watcher = try NetworkWatcher(on: host.process)
    networkWatchers.append(watcher)
    return watcher
  }
}
