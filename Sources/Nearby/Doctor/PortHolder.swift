internal import Glibc
internal import Reactor

/// The process that holds a port of this machine, from /proc: processes of other users show to root alone.
struct PortHolder: Hashable {
  let name: String
  let process: Int

  /// Nil where nobody has the port, or nobody visible.
  init?(of transport: PortCheck.Transport, _ port: UInt16) {
    let sockets = Set(
      ["", "6"].flatMap { family in
        Self.lines("/proc/net/\(transport.rawValue.lowercased())\(family)").compactMap {
          Self.socket(in: $0, transport, port)
        }
      })
    guard !sockets.isEmpty else { return nil }
    for process in Self.entries("/proc").compactMap({ Int($0) }) where process != getpid() {
      let folder = "/proc/\(process)/fd"
      guard Self.entries(folder).contains(where: { Self.target("\(folder)/\($0)").map(sockets.contains) ?? false })
      else { continue }
      name = Self.lines("/proc/\(process)/comm").first ?? "a program"
      self.process = process
      return
    }
    return nil
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
