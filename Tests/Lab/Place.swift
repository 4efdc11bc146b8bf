import FoundationEssentials

@testable import lab_rig

/// A network namespace, by the number that the kernel gives it.
struct Place: Hashable {
  let name: String

  /// Nil for a process that has ended.
  init?(of process: String) {
    let link = "/proc/\(process)/ns/net"
    guard let name = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return nil }
    self.name = name
  }

  /// The namespaces that a process is in or a mount holds.
  static func inUse() throws -> Set<Place> {
    let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
    return Set(processes.compactMap { Place(of: $0) })
  }

  @Laboratory
  static func all(of rig: Rig) throws -> Set<Place> {
    Set(([Int(rig.namespaces.process)] + rig.hosts.map(\.process)).compactMap { Place(of: "\($0)") })
  }

  /// The namespaces of the processes that a program started, and of theirs; not those of this process.
  @Laboratory
  static func below(_ program: Program) throws -> Set<Place> {
    var found: Set<Place> = []
    var open = program.process.map { ["\($0)"] } ?? []
    while let process = open.popLast() {
      if let place = Place(of: process) { found.insert(place) }
      open += try children(of: process)
    }
    return found.subtracting([Place(of: "self")].compactMap { $0 })
  }

  /// The kernel keeps them by the thread that started them.
  private static func children(of process: String) throws -> [String] {
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
    return try threads.flatMap { thread in
      let list = URL(filePath: "/proc/\(process)/task/\(thread)/children")
      return try String(contentsOf: list, encoding: .utf8).split(separator: " ").map(String.init)
    }
  }
}
