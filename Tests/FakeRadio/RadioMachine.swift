internal import Glibc
package import TestKit

/// A machine with one radio, as the kernel shows it below `/sys`, and with a bus.
package struct RadioMachine {
  private struct Failure: Error {}

  private let folder = TemporaryFolder()
  package let bus: TestBus
  /// Marks of processes are of the whole machine, so each test has a radio of its own.
  package let radio = "wl\(UInt32.random(in: 100_000...999_999))"
  /// The path of its `/sys`.
  package var path: String { folder.path }

  package init() throws {
    bus = try TestBus()
    for folder in ["class", "class/net"] { try make(folder) }
    try add(radio)
    try add("p2p-\(radio)-0")
  }

  private func make(_ name: String) throws {
    guard mkdir("\(folder.path)/\(name)", 0o700) == 0 else { throw Failure() }
  }

  package func add(_ interface: String) throws {
    for part in ["", "/phy80211", "/phy80211/rfkill0"] { try make("class/net/\(interface)\(part)") }
    try write("phy0", "phy80211/name", of: interface)
    try write("down", "operstate", of: interface)
  }

  package func write(_ text: String, _ name: String, of interface: String) throws {
    try folder.write("\(text)\n".utf8, to: "class/net/\(interface)/\(name)")
  }
}
