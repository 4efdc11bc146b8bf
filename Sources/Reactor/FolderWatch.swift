internal import CLinux
internal import Glibc

/// Reports changes of the names in a folder, from the kernel's notifications (inotify(7)).
package final class FolderWatch {
  package enum Change: Hashable {
    /// A name appeared, was closed after writing, or is gone.
    case name(String)
    /// Some changes were missed.
    case everything
    /// The folder was removed, moved or unmounted, or has other rights.
    case folder
  }

  private static let eventsBytes = 16 << 10
  /// Reads in one turn: others have theirs, however much a folder changes.
  private static let readsPerTurnMax = 4

  private let reactor: Reactor
  private let changed: (Change) -> Void
  private let watch: Descriptor
  private var registration: Registration?

  /// Calls back on the loop.
  package init(
    _ folder: borrowing Descriptor, on reactor: Reactor, changed: @escaping (Change) -> Void
  ) throws(SystemError) {
    self.reactor = reactor
    self.changed = changed
    watch = Descriptor(
      owning: try system("inotify_init1") { inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC)) })
    let number = folder.number
    let kinds = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB
    try system("watch the folder") {
      inotify_add_watch(watch.number, "/proc/self/fd/\(number)", UInt32(kinds) | UInt32(IN_ONLYDIR))
    }
    registration = try reactor.register(watch, for: .readable) { [unowned self] _ in read() }
  }

  deinit {
    if let registration { reactor.deregister(registration) }
  }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: Self.eventsBytes)
    for _ in 0..<Self.readsPerTurnMax {
      let count = Glibc.read(watch.number, &bytes, bytes.count)
      guard count > 0 else { return }
      for change in Self.changes(in: bytes[..<count]) { changed(change) }
    }
  }

  /// An event is a number, its kinds, a cookie and a length of four bytes each, and a name with zeros behind it.
  private static func changes(in bytes: ArraySlice<UInt8>) -> [Change] {
    var changes: [Change] = []
    var rest = bytes
    while rest.count >= 16 {
      let (kinds, length) = rest.withUnsafeBytes {
        ($0.loadUnaligned(fromByteOffset: 4, as: UInt32.self), $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
      }
      rest = rest.dropFirst(16)
      let name = String(decoding: rest.prefix(Int(length)).prefix { $0 != 0 }, as: UTF8.self)
      rest = rest.dropFirst(Int(length))
      if kinds & UInt32(IN_Q_OVERFLOW) != 0 {
        changes.append(.everything)
      } else {
        changes.append(name.isEmpty ? .folder : .name(name))
      }
    }
    return changes
  }
}
