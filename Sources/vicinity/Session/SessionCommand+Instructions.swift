internal import Nearby

/// Instructions from lines on standard input.
extension SessionCommand {
  func readInstructions() async {
    let lines = context.lines
    await lines.complete { [weak self] head in await self?.completions(of: head) ?? [] }
    while let line = await lines.next() {
      await handleLine(line)
      if commandHost.isEnding { return }
    }
    if Task.isCancelled { return }
    if gathering != nil {
      return await commandHost.fail(Failure(.failed, "The input has ended before /done: nobody is kept."))
    }
    // The end of the input ends the instructions; transfers that were begun still finish.
    for stream in writers { await close(stream.out, bytes: stream.bytes) }
    while true {
      let seen = changes.count
      guard transfers.values.contains(where: { $0.about.direction == .outgoing }) else { break }
      guard await changes.wait(since: seen) else { return }
    }
    commandHost.end(.done)
  }

  private func handleLine(_ line: String) async {
    if !writers.isEmpty, line != Instruction.end { return await write(line) }
    if !writers.isEmpty {
      for stream in writers { tasks.add { await self.close(stream.out, bytes: stream.bytes) } }
      writers = []
      return
    }
    do {
      let isJSON = context.printer.isJSON
      let instruction = try Instruction(line, slashMayBeMissing: isJSON) {
        FileSystem.isFile(FileSystem.expanded($0))
      }
      guard let instruction else { return }
      try await carryOut(instruction)
    } catch {
      await report(.error(Failure(wrapping: error)))
    }
  }

  private func carryOut(_ instruction: Instruction) async throws {
    switch instruction {
    case .say(let text):
      _ = try recipients(nil)
      try await session.send(Array(text.utf8))
      if !context.printer.isJSON { await report(.sent(text, to: nil)) }
    case .tell(let text, let word):
      let member = try member(word)
      try await session.send(Array(text.utf8), to: .only([member]))
      if !context.printer.isJSON { await report(.sent(text, to: label(member))) }
    case .send(let path, let word):
      let source = try Self.source(path)
      for member in try recipients(word) { tasks.add { await self.offer(source, to: member) } }
    case .stream(let name, let word):
      for member in try recipients(word) { writers.append(OpenStream(out: try await openStream(name, to: member))) }
      await explain("the following lines are streamed, until \(Instruction.end)")
    case .accept(let number): try await answer(number, yes: true)
    case .decline(let number): try await answer(number, yes: false)
    case .cancel(let number):
      if number == nil, gathering != nil { return await cancelGathering() }
      try await cancel(number)
    case .compare(let word): try await session.compare(with: try member(word).peer)
    case .clock:
      let time = try await session.clock
      await report(.clock(time, name(at: time.measurement?.host)))
    case .metronome(let beats): await metronome.beat(beats ?? (metronome.isBeating ? 0 : Metronome.usual), self)
    case .peers:
      let links = await commandHost.host.links.filter { !$0.isStandby }
      let byHost = Dictionary(links.map { ($0.host, $0) }, uniquingKeysWith: { first, _ in first })
      await report(.members(session.members.map { ($0, label($0), byHost[$0.host]) }))
    case .nearby(let filter): try await showList(filter)
    case .invite(let word): try await invite(word)
    case .done: try await finishGathering()
    case .leave:
      await session.leave()
      await report(.left(session.id))
    case .quit: commandHost.end(.done)
    case .help:
      for kind in Instruction.kinds { await explain("  " + kind.usage.padded(to: 24) + kind.summary) }
    }
  }

  private static func source(_ path: String) throws -> ResourceSource {
    // An address with a scheme is no path: the library reports schemes that it cannot fetch.
    let isAddress = path.prefixMatch(of: #/[A-Za-z][A-Za-z0-9+.-]*:\/\//#) != nil
    return isAddress ? try .url(path) : .file(FileSystem.expanded(path))
  }

  /// Prints a line for people only.
  func explain(_ line: String) async {
    if !context.printer.isJSON { await context.screen.print(line, to: context.printer.newsTo) }
  }

  // MARK: Streaming lines

  struct OpenStream: Sendable {
    let out: StreamOut
    var bytes: UInt64 = 0
  }

  private func write(_ line: String) async {
    let bytes = Array((line + "\n").utf8)
    for place in writers.indices.reversed() {
      do {
        try await writers[place].out.writer.write(bytes)
        writers[place].bytes += UInt64(bytes.count)
      } catch {
        let gone = writers.remove(at: place)
        await report(.streamEnded(gone.out.about, error.reason ?? .gone, bytes: gone.bytes))
      }
    }
  }

  // MARK: Completion

  private func completions(of head: String) -> [String] {
    let words = head.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard let first = words.first, first.hasPrefix("/") else { return [] }
    if words.count == 1 { return Instruction.kinds.map { "/\($0.name)" } }
    let names = session.members.map(\.name).filter { !$0.contains(" ") && PlainText.line($0) == $0 }
    if first == "/invite" { return nearby.values.map(\.name).filter { !$0.contains(" ") && PlainText.line($0) == $0 } }
    if first == "/compare" || first == "/to" && words.count == 2 || words.count > 2 && words[words.count - 2] == "to" {
      return names
    }
    return first == "/send" ? FileSystem.completions(of: words[words.count - 1]) : []
  }
}
