internal import Engine
internal import Synchronization
package import Wire

/// A resource that a member offers or sends. Name and type are its sender's words.
///
/// ```swift
/// if case .resource(let resource) = event {
///   try await resource.accept(into: "Downloads")
///   print("it is in \(try await resource.finished())")
/// }
/// ```
public final class IncomingResource: Sendable {
  public let member: Member
  public let name: String
  public let type: String
  /// Nil while its sender does not know.
  public let size: UInt64?
  /// Whether it was accepted before this host was started again: it resumes, to the same file, and needs no answer.
  public let isUnderWay: Bool
  /// The latest progress. It ends with the transfer.
  public let progress: Events<ResourceProgress>
  let state: TransferState
  private let loop: Loop
  /// The folder of the file, where it was accepted without one.
  private let holding = Mutex<(folder: String, disk: Disk)?>(nil)

  init(_ state: TransferState, _ info: ResourceInfo, from member: Member, isUnderWay: Bool = false, _ loop: Loop) {
    self.member = member
    self.isUnderWay = isUnderWay
    name = info.name
    type = info.type
    size = info.size
    progress = Events(mailbox: state.progress)
    self.state = state
    self.loop = loop
  }

  deinit {
    guard let (folder, disk) = holding.withLock({ $0 }) else { return }
    loop.post { [id = state.id] in $0.cancel(id) }
    disk.discard(folder)
  }

  /// Accepts it without a place yet: the file is there until this is released or the host stops, and is removed then
  /// unless it was moved away. A host with a store refuses this, since such a file would not survive a restart.
  public func accept() async throws(NearbyError) {
    do {
      let (disk, isDurable) = try await loop.run { ($0.disk, $0.store != nil) }
      if isDurable {
        throw NearbyError(
          .invalidParameter,
          "A file without a place does not outlive its host, and this host goes on after a restart: give the file a folder."
        )
      }
      let folder = try await disk.makeHoldingFolder()
      do {
        let target = try await disk.create(name, in: folder)
        try await loop.run { [id = state.id] in try $0.accept(id, target) }
      } catch {
        disk.discard(folder)
        throw error
      }
      holding.withLock { $0 = (folder, disk) }
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// Accepts it into a folder, under its own name made safe, or with a number behind it where that is taken.
  public func accept(into folder: String) async throws(NearbyError) { try await accept(into: folder, hashes: false) }

  /// The same; with `hashes`, the digest of the content is computed while it arrives.
  package func accept(into folder: String, hashes: Bool) async throws(NearbyError) {
    do {
      let disk = try await loop.run { $0.disk }
      let target = try await disk.create(name, in: folder, hashes: hashes)
      do {
        try await loop.run { [id = state.id] in try $0.accept(id, target) }
      } catch {
        await disk.drop(target, keepsPlace: false)
        throw error
      }
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  public func decline() async { try? await loop.run { [id = state.id] in $0.decline(id) } }

  public func cancel() async { try? await loop.run { [id = state.id] in $0.cancel(id) } }

  /// SHA-256 of the whole content, from the end of the transfer on; nil where it was not hashed from its first byte on.
  package var digest: Digest? { state.digest }

  /// The path of the whole file, verified by its hashes.
  public func finished() async throws(NearbyError) -> String { try await state.finished() }
}
