internal import Glibc

/// The complete files of this run by their digest, so that a content which arrives for several members of the gateway is
/// kept once, under a name for each.
///
/// Files in it were verified since the start, and are not written any more. A resource that is removed takes only its
/// own name away.
struct ContentIndex {
  private struct Entry {
    weak var content: ResourceContent?
  }

  private var entries: [ContentDigest: Entry] = [:]
  /// The number of entries at which those of removed contents are dropped.
  private var pruneCount = 64

  /// Makes the content's file a name of one with the same digest, if there is one, or adds it.
  mutating func unify(_ content: ResourceContent) {
    if let path = content.path, let file = file(like: content), Self.replace(path, by: file) { return }
    set(content)
  }

  /// Adds a content whose own file has to stay, as that of one that is sent, unless there is one with the same digest.
  mutating func add(_ content: ResourceContent) {
    if file(like: content) == nil { set(content) }
  }

  /// The file of another content with the same digest.
  private func file(like content: ResourceContent) -> String? {
    guard let digest = content.digest, let known = entries[digest]?.content, known !== content, known.digest == digest,
      known.verification == .verified
    else { return nil }
    return known.path
  }

  private mutating func set(_ content: ResourceContent) {
    guard let digest = content.digest, content.verification == .verified else { return }
    entries[digest] = Entry(content: content)
    if entries.count < pruneCount { return }
    entries = entries.filter { $0.value.content != nil }
    pruneCount = max(64, 2 * entries.count)
  }

  /// Replaces a file by another name of one with the same bytes; both survive a power cut already. Returns false where the
  /// file system refuses it.
  private static func replace(_ path: String, by file: String) -> Bool {
    let draft = "\(path).\(Secrets.id())"
    guard link(file, draft) == 0 else { return false }
    // If both are the same file already, `rename` leaves this name.
    defer { unlink(draft) }
    return rename(draft, path) == 0
  }
}
