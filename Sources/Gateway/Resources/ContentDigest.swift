internal import Glibc
internal import Media
internal import Nearby
internal import Notation
internal import Reactor

/// SHA-256 of a whole content, in the forms of RFC 9530.
struct ContentDigest: Hashable, Sendable {
  private let digest: Digest

  init(_ digest: Digest) {
    self.digest = digest
  }

  init?(base64: String) {
    guard let bytes = Base64.bytes(base64), let digest = try? Digest(bytes: bytes) else { return nil }
    self.init(digest)
  }

  /// The form that `sha256sum` prints.
  var hexadecimal: String { digest.description }
  var base64: String { Base64.text(digest.bytes) }
  /// The value of `Repr-Digest`.
  var header: String { "\(Self.algorithm)=:\(base64):" }

  private static let algorithm = "sha-256"

  /// The digest in a header field of this name; nil if it has only others.
  static func parse(_ header: String, of field: String) throws(Problem) -> ContentDigest? {
    for member in header.split(separator: ",") {
      let parts = member.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
      guard parts.first?.lowercased() == algorithm else { continue }
      guard parts.count == 2, parts[1].count > 2, parts[1].first == ":", parts[1].last == ":",
        let digest = ContentDigest(base64: String(parts[1].dropFirst().dropLast()))
      else {
        throw Problem(
          .badRequest,
          "\(QuotedText.of(header)) is no digest: it reads \(algorithm)=:…:, with base64 between the colons",
          field: field, rule: "digest")
      }
      return digest
    }
    return nil
  }

  /// Whether a `Want-Repr-Digest` header asks for it.
  static func isWanted(by header: String?) -> Bool {
    header?.split(separator: ",").contains { member in
      let parts = member.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
      return parts.count == 2 && parts[0].lowercased() == algorithm && Int(parts[1]) ?? 0 > 0
    } ?? false
  }
}

/// A file that is hashed a piece at a time, so that other work gets at the disk meanwhile.
private final class HashedFile: @unchecked Sendable {
  // `@unchecked`: one piece of work at a time uses it, and each begins after the one before has ended.

  private static let readsAtOnce = 64

  private let file: Descriptor
  private let hash = RunningHash()

  init(_ path: String) throws(SystemError) {
    file = try .opened(path, O_RDONLY)
  }

  /// Hashes the next piece; returns whether there may be more.
  func addPiece() throws(SystemError) -> Bool {
    for _ in 0..<Self.readsAtOnce {
      let bytes = try file.readPiece()
      if bytes.isEmpty { return false }
      bytes.withUnsafeBytes { hash.add($0) }
    }
    return true
  }

  var digest: ContentDigest { ContentDigest(hash.finish()) }
}

extension Host {
  /// The digest of a whole file.
  func digest(of path: String) async throws -> ContentDigest {
    let file = try await onDisk { try HashedFile(path) }
    while try await onDisk({ try file.addPiece() }) {}
    return file.digest
  }
}

extension Core {
  /// Calls back with the digest of a complete content, now or once it is known; with nil if there is no content. A file
  /// from before this start is compared with its recorded digest.
  func learnDigest(
    of model: ResourceModel, in session: SessionModel,
    then tell: @escaping (Result<ContentDigest?, Problem>) -> Void = { _ in }
  ) {
    if model.state == .damaged { return tell(.failure(.damagedFile)) }
    let content = model.content
    guard content.verification == .unknown, let path = content.path else { return tell(.success(content.digest)) }
    digestCallbacks[path, default: []].append(tell)
    if digestCallbacks[path]?.count ?? 0 > 1 { return }
    let (holders, place) = (content.holders, session.id)
    start { core in
      let learned: Result<ContentDigest?, Problem>
      do {
        let digest = try await core.host.digest(of: path)
        learned = core.isVerified(digest, at: path, of: holders, in: place) ? .success(digest) : .failure(.damagedFile)
      } catch {
        learned = .failure(
          Problem(.unknown, "what lies here cannot be read: \(error); its digest is not known", rule: "readable"))
      }
      for tell in core.digestCallbacks.removeValue(forKey: path) ?? [] { tell(learned) }
    }
  }

  /// Whether the file's digest matches the recorded one.
  private func isVerified(_ digest: ContentDigest, at path: String, of holders: [String], in place: String) -> Bool {
    guard let (session, content) = content(at: path, of: holders, in: place) else { return true }
    return verify(content, in: session, against: digest)
  }

  /// The content with this file, if one of these resources still needs it.
  func content(
    at path: String, of holders: [String], in place: String
  ) -> (session: SessionModel, content: ResourceContent)? {
    guard let session = sessions[place] else { return nil }
    let content = holders.lazy.compactMap { session.resourceModels[$0] }.first { $0.content.isUsed(by: $0.id) }?.content
    return content.flatMap { $0.path == path ? (session, $0) : nil }
  }

  /// Compares the digest of the file with the known one, or records it. Returns false if they differ.
  func verify(
    _ content: ResourceContent, in session: SessionModel, against digest: ContentDigest, size: UInt64? = nil
  ) -> Bool {
    if let known = content.digest, known != digest {
      let (there, stored) = (size.map(String.init) ?? "all", content.size.map(String.init) ?? "all")
      markDamaged(content, in: session, "its digest differs (\(there) bytes read, \(stored) stored)")
      return false
    }
    let isNews = content.digest == nil
    content.verification = .verified
    content.digest = digest
    if isNews { publish(content, in: session) }
    return true
  }

  /// Marks the resources of a content as damaged: its file is moved to the quarantine, and is not served any more.
  func markDamaged(_ content: ResourceContent, in session: SessionModel, _ what: String) {
    let models = users(of: content, in: session).filter { $0.state != .damaged }
    guard !models.isEmpty, let file = content.path else { return }
    damagedFileCount += 1
    // A file that cannot be moved stays, and is not served either.
    if let aside = Quarantine(in: options.folder).add(file) { content.path = aside }
    content.verification = .unknown
    inTransaction { for model in models { markDamaged(model, in: session, what, file) } }
  }

  private func markDamaged(_ model: ResourceModel, in session: SessionModel, _ what: String, _ file: String) {
    let about = "\(session.resources.path)/\(model.id)"
    let (outgoing, wasOver) = (model.outgoing, model.isOver)
    model.state = .damaged
    model.problem = .damagedFile
    model.waitsForMember = false
    model.transfer = nil
    publish(model, in: session)
    log(
      .error, for: .operator, "damaged",
      "a stored file is damaged: the disk or memory may be failing; restore a backup if it matters",
      [
        .init("resource", .text(about)), .init("file", .text(file)), .init("what", .text(what)),
        .init("aside", .text(model.content.path ?? "")),
      ])
    events.publish("resourceDamaged", about: about, session.owner, [.init("name", .text(model.name))])
    if !wasOver {
      reportEnd(of: model, as: .damaged, in: session)
      start { _ in await outgoing?.cancel() }
    }
  }
}

extension Problem {
  static var damagedFile: Problem {
    Problem(
      .unknown,
      "the content is corrupt on the gateway's disk, and is not sent: send or upload it again",
      rule: "damaged")
  }
}
