import Media
import Testing

/// A few machines with a few watchers in them, all gone in the end.
final class Lab: @unchecked Sendable {
  // `@unchecked`: only the test's own task uses it.

  private var watchers: [Watcher] = []
  private var networkWatchers: [NetworkWatcher] = []
  private var boxes: [Box] = []
  private let outside: Shell

  private init() throws { outside = try Shell("outside") }

  static func play(_ act: (Lab) async throws -> Void) async {
    do {
      let lab = try Lab()
      do {
        try await act(lab)
      } catch {
        Issue.record(error)
      }
      for watcher in lab.watchers { await watcher.stop() }
      for watcher in lab.networkWatchers { await watcher.stop() }
    } catch {
      Issue.record(error)
    }
  }

  /// A machine without daemons.
  func bareBox(_ name: String) throws -> Box {
    let box = try Box(name)
    boxes.append(box)
    return box
  }

  /// A machine on its own, whose daemon is at home on the loopback.
  func box(_ name: String) throws -> Box {
    let box = try bareBox(name)
    try box.startBus()
    try box.startDaemon("allow-interfaces=lo")
    return box
  }

  /// Machines on one Ethernet, at 10.77.0.1 and so on; what stands between them is the first.
  func network(_ names: String...) throws -> (between: Box, [Box]) {
    let between = try bareBox("between")
    try between.run("ip link add br0 type bridge mcast_snooping 0 forward_delay 0 && ip link set br0 up")
    let boxes = try names.enumerated().map { place, name in
      let box = try bareBox(name)
      try plug(box, "eth0", into: between, address: "10.77.0.\(place + 1)/24")
      try box.startBus()
      try box.startDaemon()
      return box
    }
    return (between, boxes)
  }

  /// Gives a box one more interface, on the bridge of another box.
  func plug(_ box: Box, _ interface: String, into between: Box, _ bridge: String = "br0", address: String) throws {
    let port = "\(box.name)-\(interface)"
    // Neither end is ever in the network that the test itself runs in.
    try outside.run(
      "ip link add \(interface) netns \(box.process) type veth peer name \(port) netns \(between.process)")
    try between.run("ip link set \(port) master \(bridge) up")
    // Without a wait for others that have the same address.
    try box.run(
      """
      echo 0 >/proc/sys/net/ipv6/conf/\(interface)/accept_dad
      ip addr add \(address) dev \(interface) && ip link set \(interface) up
      """)
  }

  func watcher(in box: Box, _ limits: AvahiDirectory.Limits = .init()) throws -> Watcher {
    let watcher = try Watcher.start(in: box, limits)
    watchers.append(watcher)
    return watcher
  }

  func networkWatcher(in box: Box) throws -> NetworkWatcher {
    let watcher = try NetworkWatcher(in: box)
    networkWatchers.append(watcher)
    return watcher
  }
}
