internal import Nearby

/// Transfers of files, in both directions.
extension SessionCommand {
  /// A transfer in progress, which can be cancelled.
  struct Transfer: Sendable {
    let about: Event.Transfer
    let cancel: @Sendable () async -> Void
  }

  /// The intervals of progress reports.
  private static let barInterval: Duration = .milliseconds(100)
  private static let eventInterval: Duration = .milliseconds(250)

  // MARK: Sending

  /// Sends a resource and returns when the member has all of it, or the failure.
  func send(_ source: ResourceSource, to member: Member) async -> Failure? {
    do {
      return await follow(try await session.send(source, to: member), isResumed: false)
    } catch {
      return Failure(wrapping: error)
    }
  }

  /// Sends a resource without waiting for its end; a failure to begin is reported as well.
  func offer(_ source: ResourceSource, to member: Member) async {
    do {
      _ = await follow(try await session.send(source, to: member), isResumed: false)
    } catch {
      await report(.error(Failure(wrapping: error)))
    }
  }

  /// Follows a transfer that resumes from before this program was killed.
  func followResumed(_ resource: OutgoingResource) {
    let file = resource.file ?? ""
    if let files = policy.files, !files.contains(file) { return tasks.add { await resource.cancel() } }
    tasks.add {
      let failure = await self.follow(resource, isResumed: true)
      await self.finishResumed(file, ResumedEnd(peer: resource.member.peer, failure: failure))
    }
  }

  /// The end of a resumed transfer.
  struct ResumedEnd: Sendable {
    let peer: PeerID
    let failure: Failure?
  }

  private func finishResumed(_ file: String, _ end: ResumedEnd) {
    resumed[file] = end
    changes.notify()
  }

  /// Sends a file, or waits for the end of its resumed transfer from before this program was killed.
  func send(file path: String, to member: Member) async -> Failure? {
    let file = FileSystem.absolute(path)
    while session.resumedFiles.contains(file) {
      let seen = changes.count
      if let end = resumed[file] {
        if end.peer == member.peer { return end.failure }
        break
      }
      guard await changes.wait(since: seen) else { break }
    }
    return await send(.file(path), to: member)
  }

  private func follow(_ resource: OutgoingResource, isResumed: Bool) async -> Failure? {
    let member = resource.member
    var transfer = Event.Transfer(
      number: number(), direction: .outgoing, member: member, label: label(member), name: resource.name)
    transfer.size = resource.file.flatMap(FileSystem.size)
    transfers[transfer.number] = Transfer(about: transfer) { await resource.cancel() }
    await report(.resource(transfer, isTaken: false, isResumed: isResumed))
    show(resource.progress, transfer)
    do {
      try await resource.finished()
      await ended(transfer, nil)
      return nil
    } catch {
      let failure = Failure(error)
      await ended(transfer, failure)
      return failure
    }
  }

  // MARK: Receiving

  /// Follows a transfer from the offer to its end.
  func follow(_ resource: IncomingResource, _ transfer: Event.Transfer) async {
    transfers[transfer.number] = Transfer(about: transfer) { await resource.cancel() }
    show(resource.progress, transfer)
    do {
      let path = try await resource.finished()
      await ended(transfer, nil, path: path)
    } catch {
      let failure = Failure(error)
      incomplete = incomplete ?? failure.code
      await ended(transfer, failure)
    }
  }

  // MARK: Both directions

  private func show(_ progress: Events<ResourceProgress>, _ transfer: Event.Transfer) {
    let isJSON = context.printer.isJSON
    tasks.add {
      for await one in progress {
        guard await self.isUnderWay(transfer.number) else { return }
        await self.show(Progress(one), transfer)
        await self.context.eventThread.wait(for: isJSON ? Self.eventInterval : Self.barInterval)
      }
    }
  }

  func isUnderWay(_ number: Int) -> Bool { transfers[number] != nil }

  func show(_ progress: Progress, _ transfer: Event.Transfer) async {
    guard isUnderWay(transfer.number) else { return }
    if context.printer.isJSON { return await report(.progress(transfer, progress)) }
    if context.printer.isQuiet { return }
    await context.screen.show(ProgressBar(name: transfer.name, progress: progress), transfer.number)
  }

  private func ended(_ transfer: Event.Transfer, _ failure: Failure?, path: String? = nil) async {
    close(transfer.number)
    // Programs get the last byte's progress too, however fast it came.
    if failure == nil, let size = transfer.size, context.printer.isJSON {
      await show(Progress(bytes: size, size: size), transfer)
    }
    transfers[transfer.number] = nil
    await context.screen.hide(transfer.number)
    await report(.resourceEnded(transfer, failure, path: path))
    changes.notify()
  }

  func cancel(_ number: Int?) async throws {
    guard let number = number ?? transfers.keys.min() else { throw Failure(.failed, "Nothing is under way now.") }
    guard let transfer = transfers[number] else { throw Failure(.failed, "Nothing of number \(number) is under way.") }
    await transfer.cancel()
  }
}

extension Progress {
  init(_ progress: ResourceProgress) {
    self.init(
      bytes: progress.bytes, size: progress.size, bytesPerSecond: progress.bytesPerSecond, timeLeft: progress.timeLeft)
  }
}
