internal import Nearby
internal import Synchronization

/// A metronome by a session's shared clock: beats lie at whole multiples of the beat's time, so that the metronomes of all
/// members beat together.
final class Metronome: Sendable {
  /// Beats a minute.
  static let beats = 20...300
  static let usual = 90

  /// The run that beats now: an earlier one ends when it sees another number.
  private let run = Mutex(0)
  private let rate = Mutex(0)

  var isBeating: Bool { rate.withLock { $0 > 0 } }

  func beat(_ beats: Int, _ command: SessionCommand) async {
    rate.withLock { $0 = beats }
    let number = run.withLock { run in
      run += 1
      return run
    }
    guard beats > 0 else { return await command.explain("the metronome has stopped") }
    await command.explain("\(beats) beats a minute by the shared clock; /metronome stops")
    command.tasks.add { await self.follow(command, .seconds(60) / beats, number) }
  }

  private func follow(_ command: SessionCommand, _ interval: Duration, _ number: Int) async {
    var last: (beat: Int64, steps: UInt64)?
    while run.withLock({ $0 == number }) {
      do {
        let time = try await command.session.clock
        var beat = Int64(time.elapsed / interval) + 1
        // The wait may end a little early by a clock that was corrected meanwhile.
        if let last, last.steps == time.steps { beat = max(beat, last.beat + 1) }
        let wait = time.moment(of: interval * Int(beat)) - .now
        await command.context.eventThread.wait(for: wait)
        if Task.isCancelled { return }
        guard run.withLock({ $0 == number }) else { return }
        last = (beat, time.steps)
        await command.report(.beat(beat, time, command.name(at: time.measurement?.host)))
      } catch {
        return
      }
    }
  }
}
