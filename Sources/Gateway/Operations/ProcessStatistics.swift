internal import Glibc
internal import Notation

/// The kernel's figures of this process and its disk. A missing one is no error.
enum ProcessStatistics {
  static let startTime: Double? = {
    // The twentieth word after the name, which ends with the last bracket: in ticks since the boot.
    guard let said = words(of: "/proc/self/stat", after: ")"), said.count > 19, let ticks = Double(said[19]),
      let uptime = words(of: "/proc/uptime")?.first.flatMap(Double.init)
    else { return nil }
    let now = Double(Timestamp.now.milliseconds) / 1_000
    return now - uptime + ticks / Double(sysconf(CInt(_SC_CLK_TCK)))
  }()

  static var processorTime: Double? {
    var time = timespec()
    guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static var memory: (virtual: Double, resident: Double)? {
    guard let words = words(of: "/proc/self/statm"), words.count > 1, let all = Double(words[0]),
      let resident = Double(words[1])
    else { return nil }
    let page = Double(sysconf(CInt(_SC_PAGESIZE)))
    return (all * page, resident * page)
  }

  static var descriptors: Double? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Without its own descriptor, and the folder's two links.
    return Double(count - 3)
  }

  static var descriptorsMax: Double? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    return Double(limit.rlim_cur)
  }

  static func disk(of folder: String) -> (free: Double, size: Double)? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return nil }
    return (Double(status.f_bavail) * Double(status.f_frsize), Double(status.f_blocks) * Double(status.f_frsize))
  }

  private static func words(of path: String, after mark: Character? = nil) -> [Substring]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = fread(&bytes, 1, bytes.count, file)
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    guard let mark else { return text.split { $0 == " " || $0 == "\n" } }
    guard let place = text.lastIndex(of: mark) else { return nil }
    return text[text.index(after: place)...].split { $0 == " " || $0 == "\n" }
  }
}
