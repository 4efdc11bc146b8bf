internal import Glibc
internal import Nearby

/// A host for tests of what the command line cannot do: it carries out the lines of standard input, one after another,
/// and prints events as JSON, one a line.
@main
enum LabPeer {
  @MainActor
  static func main() async {
    do {
      let runner = CommandRunner(try await Host.start(try options(CommandLine.arguments.dropFirst())))
      EventWriter.tell("started", ["id": runner.host.id.text])
      await withDiscardingTaskGroup { group in
        // The wait for a line blocks this thread, and nothing else lives on it.
        while let line = readLine(), line != "quit" {
          if let work = await runner.obey(line) { group.addTask { await work() } }
        }
        await runner.host.stop()
        group.cancelAll()
      }
    } catch {
      EventWriter.tell(error, of: "start")
    }
  }

  /// `keys=FOLDER`, `port=N`, `medium=lan`, `medium=folder:PATH`, `at=ADDRESS`; with `at=` alone nobody is looked for.
  private static func options(_ words: ArraySlice<String>) throws -> HostOptions {
    var options = HostOptions()
    options.keys = .ephemeral
    var media: [HostMedium] = []
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch (parts[0], parts.dropFirst().first) {
      case ("keys", let folder?): options.keys = .folder(folder)
      case ("port", let port?): options.port = UInt16(port) ?? 0
      case ("medium", "lan"?): media.append(.lan)
      case ("medium", let folder?) where folder.hasPrefix("folder:"):
        media.append(.folder(String(folder.dropFirst("folder:".count))))
      case ("at", let place?): options.discovery = .fixed(place.isEmpty ? [] : [place])
      default: throw Misunderstanding("'\(word)' is no option of this program")
      }
    }
    if !media.isEmpty { options.media = media }
    return options
  }
}
