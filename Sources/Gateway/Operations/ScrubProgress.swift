internal import Glibc
internal import Notation
internal import Reactor
internal import Store

/// The progress of the scrub, in a small file beside the database.
///
/// The file is not synced: after a power cut a part is read again, or everything.
struct ScrubProgress: Equatable {
  enum Part: Equatable {
    /// Files after this resource; nil at the beginning.
    case files(after: ScrubbedFile.Key?)
    /// Rows after this message; nil at the beginning.
    case rows(after: StoreScrub.Position?)
    case done
  }

  static let name = "scrub"
  private static let bytesMax = 4_096

  /// The start of the pass, in seconds of the system clock.
  var began: Int
  var part = Part.files(after: nil)

  init(began: Int) { self.began = began }

  static var now: Int { time(nil) }

  /// The time until the next pass, if one is spread over so many seconds.
  func secondsLeft(of seconds: Int, at now: Int = ScrubProgress.now) -> Int {
    // The system clock may have been set.
    min(seconds, max(0, began + seconds - now))
  }

  /// Nil if there is no valid file.
  init?(in folder: String) {
    guard let bytes = Folder.read("\(folder)/\(Self.name)", atMost: Self.bytesMax),
      let json = try? JSON(parsing: bytes), let began = json["began"]?.integer, began >= 0, began <= Self.now
    else { return nil }
    self.began = Int(began)
    switch json["part"]?.text {
    case "files":
      part = .files(
        after: json["session"]?.text.flatMap { session in
          json["resource"]?.text.map { ScrubbedFile.Key(session: session, resource: $0) }
        })
    case "rows":
      part = .rows(
        after: json["number"]?.integer.flatMap { session in
          json["ordinal"]?.integer.map { StoreScrub.Position(session: Int(session), ordinal: Int($0)) }
        })
    case "done": part = .done
    default: return nil
    }
  }

  /// Best effort: if the file cannot be written, a part is read again.
  func save(in folder: String) {
    var members: [JSON.Member] = [.init("began", .number(began))]
    switch part {
    case .files(let key):
      members.append(.init("part", "files"))
      if let key { members += [.init("session", .text(key.session)), .init("resource", .text(key.resource))] }
    case .rows(let position):
      members.append(.init("part", "rows"))
      if let position {
        members += [.init("number", .number(position.session)), .init("ordinal", .number(position.ordinal))]
      }
    case .done: members.append(.init("part", "done"))
    }
    let (path, draft) = ("\(folder)/\(Self.name)", "\(folder)/\(Self.name).new")
    guard let file = try? Descriptor.opened(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW),
      (try? file.writeAll(JSON.object(members).bytes)) != nil
    else { return }
    rename(draft, path)
  }
}
