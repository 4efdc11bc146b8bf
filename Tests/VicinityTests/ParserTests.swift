import Testing

@testable import vicinity

@Suite struct ParserTests {
  private func parse(_ line: String, environment: [String: String] = [:]) throws -> Invocation {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard
      case .invocation(let invocation) = try Parser(.vicinity, in: OptionSources(variables: environment)).parse(words)
    else {
      throw UsageError("help or version")
    }
    return invocation
  }

  private func mistake(_ line: String, environment: [String: String] = [:]) -> String {
    do {
      _ = try parse(line, environment: environment)
      return "understood"
    } catch {
      return "\(error)"
    }
  }

  @Test func `Options stand before the command, behind it and between its arguments`() throws {
    for line in ["--json browse chat", "browse --json chat", "browse chat --json"] {
      let invocation = try parse(line)
      #expect(invocation.command.name == "browse")
      #expect(invocation.required("type") == "chat")
      #expect(invocation.has("json"))
    }
    #expect(try parse("--name Ada browse chat").text("name") == "Ada")
  }

  @Test func `A value stands behind its option or behind an equals sign`() throws {
    #expect(try parse("browse chat --port 7777").number("port") == 7777)
    #expect(try parse("browse chat --port=7777").number("port") == 7777)
    #expect(try parse("browse chat --name=--odd=").text("name") == "--odd=")
    #expect(try parse("advertise chat --info a=1 --info b=x=y").pairs("info") == ["a": "1", "b": "x=y"])
  }

  @Test func `Words after two hyphens are no options`() throws {
    #expect(try parse("invite chat -- --Ada").required("peer") == "--Ada")
    #expect(try parse("invite chat -").required("peer") == "-")
  }

  @Test func `Some options take all the words behind them that look like their values`() throws {
    let files = try parse("send photos Ada --file a.jpg b.jpg --message hi")
    #expect(files.texts("file") == ["a.jpg", "b.jpg"])
    #expect(files.texts("message") == ["hi"])
    let places = try parse("peers --at 10.0.0.5:7 [fe80::1%eth0]:8 chat")
    #expect(places.texts("at") == ["10.0.0.5:7", "[fe80::1%eth0]:8"])
    #expect(places.required("type") == "chat")
  }

  @Test(arguments: [
    ("brows chat", "Did you mean 'browse'?"),
    ("frobnicate", "There is no command 'frobnicate'. 'vicinity help' lists them."),
    ("browse chat --jsn", "Did you mean '--json'?"),
    ("browse chat --colour", "browse has no option --colour."),
    ("peers chat --accept", "it belongs to advertise, invite, gather, adhoc, chat, receive"),
    ("browse chat -q", "browse has no option -q."),
    ("browse", "<type> is missing"),
    ("invite chat", "<peer> is missing"),
    ("browse chat room", "'room' is one word too many"),
    ("browse chat --port", "--port needs a value after it: N."),
    ("browse chat --port --json", "--port needs a value after it"),
    ("browse chat --port -1", "--port takes a whole number from"),
    ("serve --drain-time -1", "--drain-time takes a time such as 30, 1.5s, 500ms, 2m or 1h, not '-1'."),
    ("browse chat --port 65536", "--port takes a whole number from 0 to 65535, not '65536'."),
    ("browse chat --json=yes", "--json takes no value"),
    ("browse chat --name A --name B", "--name stands there twice"),
    ("browse chat --discovery avhi", "Did you mean 'avahi'?"),
    ("browse chat --timeout soon", "--timeout takes a time"),
    ("browse chat --at nowhere", "--at takes an address with its port"),
    ("browse chat --at 10.0.0.1:0", "--at takes an address with its port"),
    ("advertise chat --info room", "--info takes a key and a value"),
    ("completion tcsh", "'tcsh' is none of bash, zsh, fish."),
    ("browse chat --name=", "--name needs a value that is not empty"),
  ])
  func `Unknown words are named, with those that were expected`(_ line: String, _ sentence: String) {
    #expect(mistake(line).contains(sentence), "\(mistake(line))")
  }

  @Test func `The environment says what the command line does not`() throws {
    let environment = ["VICINITY_NAME": "Ada", "VICINITY_PORT": "7", "VICINITY_TIMEOUT": "1"]
    let invocation = try parse("browse chat --port 8", environment: environment)
    #expect(invocation.text("name") == "Ada")
    #expect(invocation.number("port") == 8)
    #expect(!invocation.has("timeout"))
    #expect(
      mistake("browse chat", environment: ["VICINITY_PORT": "x"]).contains("VICINITY_PORT in the environment takes"))
  }

  @Test func `Help and version are asked for anywhere`() throws {
    for words in [[], ["--help"], ["-h"]] {
      guard case .help(nil) = try Parser(.vicinity).parse(words) else {
        Issue.record("\(words)")
        continue
      }
    }
    for words in [["send", "--help"], ["--help", "send"], ["send", "x", "-h", "--port"]] {
      guard case .help(let command?) = try Parser(.vicinity).parse(words), command.name == "send" else {
        Issue.record("\(words)")
        continue
      }
    }
    for words in [["--version"], ["-V"]] {
      guard case .version = try Parser(.vicinity).parse(words) else {
        Issue.record("\(words)")
        continue
      }
    }
  }

  @Test(arguments: [
    ("30", 30_000), ("1.5s", 1_500), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000), ("0", 0), (".5", 500),
  ])
  func `Times have units`(_ text: String, _ milliseconds: Int) {
    #expect(Duration(text: text) == .milliseconds(milliseconds))
  }

  @Test(arguments: ["", "s", "-1", "1x", "1 s", "inf", "nan", "1e3", "400d", "1..2", "٣"])
  func `An invalid time is refused`(_ text: String) {
    #expect(Duration(text: text) == nil)
  }

  @Test func `Every command of the table has an example that is understood`() throws {
    for command in Syntax.vicinity.commands where command.name != "version" {
      #expect(!command.examples.isEmpty)
      for example in command.examples {
        let shell = try #require(example.line.split(separator: "vicinity ", maxSplits: 1).last)
        let words = Self.words(shell)
        #expect(throws: Never.self) { try Parser(.vicinity).parse(words) }
        #expect(words.contains(command.name), "\(example.line)")
      }
    }
  }

  /// The words of a line as a shell splits them, up to a pipe or a redirection.
  private static func words(_ line: Substring) -> [String] {
    var words = [""]
    var isQuoted = false
    for character in line {
      if character == "'" {
        isQuoted.toggle()
      } else if "|>)".contains(character), !isQuoted {
        break
      } else if character
        == " ", !isQuoted
      {
        words.append("")
      } else {
        words[words.count - 1].append(character)
      }
    }
    return words.filter { !$0.isEmpty }
  }
}
