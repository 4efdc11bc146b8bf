internal import Nearby

/// Streams, in both directions.
extension SessionCommand {
  /// A stream for lines, or the bytes, of standard input.
  struct StreamOut: Sendable {
    let writer: StreamWriter
    let about: Event.Transfer
  }

  // MARK: Receiving

  func take(_ reader: StreamReader) {
    let transfer = Event.Transfer(
      number: number(), direction: .incoming, member: reader.member, label: label(reader.member), name: reader.name)
    incomingStreamCount += 1
    tasks.add { await self.read(reader, transfer) }
  }

  private func read(_ reader: StreamReader, _ transfer: Event.Transfer) async {
    await report(.stream(transfer))
    var (bytes, reason) = (UInt64(0), Reason.none)
    do {
      // Streams to one destination are written one after another; the others wait, and so do their writers
      // (backpressure).
      try await policy.streams?.begin()
      var pieces = TextPieces()
      for try await piece in reader {
        bytes += UInt64(piece.count)
        try await pass(piece, transfer, &pieces)
      }
      await finish(transfer, &pieces)
    } catch {
      let error = Failure(wrapping: error)
      reason = Reason.allCases.first { $0.description == error.reason } ?? .cancelled
      if reason == .cancelled { await report(.error(error)) }
    }
    await policy.streams?.end()
    incomingStreamCount -= 1
    if reason != .none { incomplete = incomplete ?? ExitCode(reason) }
    await report(.streamEnded(transfer, reason, bytes: bytes))
    changes.notify()
  }

  private func pass(_ piece: [UInt8], _ transfer: Event.Transfer, _ pieces: inout TextPieces) async throws {
    if let sink = policy.streams { return try await sink.write(piece) }
    if context.printer.isJSON {
      for part in pieces.characters(piece) { await report(.streamBytes(transfer, part)) }
    } else {
      await report(.streamLines(transfer, pieces.lines(piece)))
    }
  }

  private func finish(_ transfer: Event.Transfer, _ pieces: inout TextPieces) async {
    if policy.streams != nil { return }
    let rest = pieces.rest()
    if rest.isEmpty { return }
    if context.printer.isJSON {
      await report(.streamBytes(transfer, rest))
    } else {
      await report(.streamLines(transfer, TextPieces.shown(rest)))
    }
  }

  // MARK: Sending

  func openStream(_ name: String, to member: Member) async throws -> StreamOut {
    let writer = try await session.openStream(name, to: member)
    let transfer = Event.Transfer(
      number: number(), direction: .outgoing, member: member, label: label(member), name: name)
    await report(.stream(transfer))
    return StreamOut(writer: writer, about: transfer)
  }

  /// Sends standard input to its end; throws where the other side has not got all of it.
  func pump(_ name: String, to member: Member) async throws {
    let stream = try await openStream(name, to: member)
    let (writer, about, eventThread) = (stream.writer, stream.about, context.eventThread)
    transfers[about.number] = Transfer(about: about) { await writer.cancel() }
    let total = await withTaskGroup(of: UInt64.self) { group in
      group.addTask {
        var meter = Meter()
        while case let bytes = await eventThread.read(), !bytes.isEmpty {
          do { try await writer.write(bytes) } catch { break }
          if let progress = meter.add(bytes.count) { await self.show(progress, about) }
        }
        // If there is no more because the stream has ended, this changes nothing.
        await writer.close()
        return meter.bytes
      }
      // The stream may end while standard input is silent.
      _ = await writer.ended
      group.cancelAll()
      return await group.next() ?? 0
    }
    transfers[about.number] = nil
    await context.screen.hide(about.number)
    let reason = await close(stream, bytes: total)
    if reason != .none {
      throw Failure(ExitCode(reason), "The stream did not arrive whole: \(reason.sentence).", reason: "\(reason)")
    }
  }

  /// Returns the reason of the stream's end, once the other side has got all of it.
  @discardableResult
  func close(_ stream: StreamOut, bytes: UInt64) async -> Reason {
    await stream.writer.close()
    let reason = await stream.writer.ended
    await report(.streamEnded(stream.about, reason, bytes: bytes))
    return reason
  }
}
