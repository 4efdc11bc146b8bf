import FoundationEssentials
import Glibc
import TestKit
import Testing

@testable import vicinity

@Suite(.ownThread) struct CompletionTests {
  /// The output of a shell that runs the commands.
  private func shell(_ name: String, _ commands: String, _ folder: TemporaryFolder) throws -> String {
    let script = try folder.write(Array(commands.utf8), to: "commands")
    let pipe = try #require(popen("cd '\(folder.path)' && exec timeout 20 \(name) '\(script)' 2>&1", "re"))
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4_096)
    while case let count = fread(&bytes, 1, bytes.count, pipe), count > 0 { text += bytes.prefix(count) }
    pclose(pipe)
    return String(decoding: text, as: UTF8.self)
  }

  private func script(_ shell: Completion.Shell, in folder: TemporaryFolder) throws -> String {
    try folder.write(Array(Completion(syntax: .vicinity).script(for: shell).utf8), to: "completion")
  }

  /// The completions that bash offers for the last of the words.
  private func offers(_ words: [String], _ folder: TemporaryFolder) throws -> Set<String> {
    let path = try script(.bash, in: folder)
    let list = (["vicinity"] + words).map { "'\($0)'" }.joined(separator: " ")
    let answer = try shell(
      "bash",
      """
      source '\(path)'
      COMP_WORDS=(\(list)) COMP_CWORD=\(words.count)
      _vicinity
      printf '%s\\n' "${COMPREPLY[@]}"
      """, folder)
    return Set(answer.split(separator: "\n").map(String.init))
  }

  @Test func `Each shell finds no fault in its completion`() throws {
    let folder = TemporaryFolder()
    for shell in Completion.Shell.allCases {
      let path = try script(shell, in: folder)
      let answer = try self.shell(shell.rawValue, "\(shell.rawValue) -n '\(path)' && echo fine", folder)
      #expect(answer == "fine\n", "\(shell)")
    }
  }

  @Test func `bash completes commands, options, choices, files and folders`() throws {
    let folder = TemporaryFolder()
    try folder.write([], to: "photo one.jpg")
    #expect(mkdir("\(folder.path)/photos", 0o700) == 0)
    #expect(try offers(["br"], folder) == ["browse"])
    #expect(try offers([""], folder).isSuperset(of: Syntax.vicinity.commands.map(\.name)))
    #expect(try offers(["browse", "--js"], folder) == ["--json"])
    #expect(try offers(["--json", "send", "--f"], folder) == ["--file"])
    #expect(try offers(["peers", "--ac"], folder) == [])
    #expect(try offers(["browse", "--discovery", ""], folder) == ["avahi", "none", "static"])
    #expect(try offers(["browse", "--discovery", "=", "st"], folder) == ["static"])
    #expect(try offers(["browse", "--discovery", "="], folder) == ["avahi", "none", "static"])
    #expect(try offers(["completion", "f"], folder) == ["fish"])
    #expect(try offers(["help", "ad"], folder) == ["admin", "advertise", "adhoc"])
    #expect(try offers(["send", "chat", "Ada", "--file", "pho"], folder) == ["photo one.jpg", "photos"])
    #expect(try offers(["receive", "--to-folder", "pho"], folder) == ["photos"])
    #expect(try offers(["browse", "--name", "x"], folder) == [])
  }

  @Test func `zsh completes what is typed at its prompt`() throws {
    let folder = TemporaryFolder()
    let path = try script(.zsh, in: folder)
    for (typed, completed) in [
      ("br", "browse "), ("browse --js", "browse --json "), ("completion f", "completion fish "),
      ("browse --discovery=s", "browse --discovery=static "),
    ] {
      let answer = try shell(
        "zsh",
        #"""
        zmodload zsh/zpty
        export TERM=dumb
        zpty terminal zsh -f
        zpty -w terminal "autoload -U compinit; compinit -u -D; source '\#(path)'"
        zpty -w terminal "show() { print -r -- \"<\$BUFFER>\" }; zle -N show; bindkey '^X^X' show"
        zpty -w -n terminal $'vicinity \#(typed)\t\x18\x18'
        zpty -r terminal said '*<vicinity*>'
        print -r -- ${said##*<}
        """#, folder)
      #expect(answer.hasPrefix("vicinity \(completed)>"), "\(typed): \(answer)")
    }
  }

  @Test func `fish completes commands, options, choices and files`() throws {
    let folder = TemporaryFolder()
    try folder.write([], to: "photo one.jpg")
    let path = try script(.fish, in: folder)
    for (typed, offers) in [
      ("br", ["browse"]), ("browse --js", ["--json"]), ("browse --discovery ", ["avahi", "none", "static"]),
      ("completion f", ["fish"]), ("send chat Ada --file pho", ["photo one.jpg"]),
    ] {
      let answer = try shell("fish", "source '\(path)'; complete -C 'vicinity \(typed)'", folder)
      // Behind a tab stands what it is.
      let words = answer.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      #expect(words == offers, "\(typed)")
    }
  }

  @Test func `Every command and option stands in each of the scripts`() {
    let completion = Completion(syntax: .vicinity)
    for shell in Completion.Shell.allCases {
      let script = completion.script(for: shell)
      for command in Syntax.vicinity.commands { #expect(script.contains(command.name)) }
      for option in Syntax.vicinity.options { #expect(script.contains(option.name)) }
    }
  }

  @Test func `The program prints the script`() throws {
    for shell in Completion.Shell.allCases {
      let told = try Program.run("completion", shell.rawValue)
      #expect(told.code == 0)
      #expect(told.out == Completion(syntax: .vicinity).script(for: shell))
    }
  }
}
