internal import Glibc
internal import Reactor

/// The process that holds a port of this machine, from /proc: processes of other users show to root alone.
struct PortHolder: Hashable {
  let name: String
  let process: Int

  /// Nil where nobody has the port, or nobody visible.
  init?(of transport: PortCheck.Transport, _ port: UInt16) {
    guard let holder = Self.holders(of: transport, port, atMost: 1).first else { return nil }
    self = holder
  }

  /// All processes that share the port, at most `holdersMax`.
  static func all(of transport: PortCheck.Transport, _ port: UInt16) -> [PortHolder] {
    holders(of: transport, port, atMost: holdersMax)
  }

  /// A message names no more.
  private static let holdersMax = 16

  private init(name: String, process: Int) {
    self.name = name
    self.process = process
  }

  private static func holders(of transport: PortCheck.Transport, _ port: UInt16, atMost countMax: Int) -> [PortHolder] {
    let sockets = Set(
      ["", "6"].flatMap { family in
        lines("/proc/net/\(transport.rawValue.lowercased())\(family)").compactMap { socket(in: $0, transport, port) }
      })
    guard !sockets.isEmpty else { return [] }
    var holders: [PortHolder] = []
    for process in entries("/proc").compactMap({ Int($0) }) where process != getpid() && holders.count < countMax {
      let folder = "/proc/\(process)/fd"
      guard entries(folder).contains(where: { target("\(folder)/\($0)").map(sockets.contains) ?? false })
      else { continue }
      holders.append(PortHolder(name: lines("/proc/\(process)/comm").first ?? "a program", process: process))
    }
    return holders
  }

  /// `socket:[…]` from a line in /proc/net: local address, remote address, state, …, inode.
  static func socket(in line: String, _ transport: PortCheck.Transport, _ port: UInt16) -> String? {
    let fields = line.split(separator: " ")
    // TCP that listens (0A), UDP that is bound (07).
    guard fields.count > 9, fields[3] == (transport == .tcp ? "0A" : "07"),
      let digits = fields[1].split(separator: ":").last, UInt16(digits, radix: 16) == port
    else { return nil }
    return "socket:[\(fields[9])]"
  }

  private static let bytesMax = 4 << 20

  private static func lines(_ path: String) -> [String] {
    guard let file = try? Descriptor.opened(path, O_RDONLY), let bytes = try? file.readAll(atMost: bytesMax) else {
      return []
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private static func entries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        })
    }
    return names
  }

  private static func target(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { room in
      let count = room.baseAddress.map { readlink(path, $0, room.count) } ?? 0
      return count > 0 ? String(decoding: UnsafeRawBufferPointer(room)[..<count], as: UTF8.self) : nil
    }
  }
}
