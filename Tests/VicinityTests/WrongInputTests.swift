import FoundationEssentials
import Glibc
import Reactor
import TestKit
import Testing

@testable import vicinity

/// A line that beginners type, with the contents of the answer: the fault, its cause and its cure.
struct WrongInput: Sendable, CustomTestStringConvertible {
  let line: String
  let code: CInt
  /// The fault and its cause.
  let cause: String
  /// The cure; nil if the answer names the help of the command.
  let cure: String?
  /// Whether the host is on this machine only, with ephemeral keys.
  var isAlone = false
  /// Whether the user may neither open locked files nor listen below port 1024.
  var isUnprivileged = false

  var testDescription: String { "vicinity \(line)" }

  /// Words in quotation marks are one.
  var words: [String] {
    line.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { place, part in
      place % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
    } + (isAlone ? ["--discovery", "static", "--keys", "ephemeral"] : [])
  }

  init(
    _ line: String, _ code: CInt, _ cause: String, _ cure: String? = nil, isAlone: Bool = false,
    isUnprivileged: Bool = false
  ) {
    (self.line, self.code, self.cause, self.cure) = (line, code, cause, cure)
    (self.isAlone, self.isUnprivileged) = (isAlone, isUnprivileged)
  }

  static let commands: [WrongInput] = [
    .init("server", 2, "no command 'server'", "Did you mean 'serve'?"),
    .init("SERVE", 2, "no command 'SERVE'", "Did you mean 'serve'?"),
    .init("browser chat", 2, "no command 'browser'", "Did you mean 'browse'?"),
    .init("list", 2, "no command 'list'", "Did you mean 'peers', which is there to list who is nearby now?"),
    .init("connect Ada", 2, "no command 'connect'", "Did you mean 'invite'"),
    .init("scan", 2, "no command 'scan'", "Did you mean 'browse'"),
    .init("start", 2, "no command 'start'", "Did you mean 'serve'"),
    .init("status", 2, "no command 'status'", "Did you mean 'doctor'"),
    .init("login", 2, "no command 'login'", "Did you mean 'pair'"),
    .init("share file", 2, "no command 'share'", "Did you mean 'send'"),
    .init("whoami", 2, "no command 'whoami'", "Did you mean 'identity'"),
    .init("frobnicate", 2, "no command 'frobnicate'", "'vicinity help' lists them"),
    .init("help srve", 2, "no command 'srve'", "Did you mean 'serve'?"),
    .init("help list", 2, "no command 'list'", "Did you mean 'peers'"),
    .init("--json", 2, "no command among the options", "'vicinity help' lists the commands"),
    .init("--name Ada", 2, "no command among the options", "'vicinity help' lists the commands"),
    .init("help serve pair", 2, "'pair' is one word too many for 'vicinity help [command]'"),
  ]

  static let types: [WrongInput] = [
    .init("chat", 2, "<type> is missing", "For example: vicinity chat workshop"),
    .init("send", 2, "<type> is missing", "For example: vicinity send chat Ada"),
    .init("browse Chat", 2, "holds “C”; only a–z", "Did you mean 'chat'?"),
    .init("browse my_chat", 2, "holds “_”", "Did you mean 'my-chat'?"),
    .init("adhoc 'my chat'", 2, "holds a space", "Did you mean 'my-chat'?"),
    .init("browse _chat._tcp", 2, "holds “_”", "Did you mean 'chat'?"),
    .init("browse _chat._tcp.local", 2, "at most 15", "Did you mean 'chat'?"),
    .init("peers a-type-that-is-too-long", 2, "at most 15", "Did you mean 'a-type-that-is'?"),
    .init("peers 12345", 2, "has no letter"),
    .init("chat -- -chat", 2, "hyphen at an end", "Did you mean 'chat'?"),
    .init("peers schön", 2, "the byte 195"),
  ]

  static let arguments: [WrongInput] = [
    .init("send chat", 2, "<peer> is missing", "For example: vicinity send chat Ada"),
    .init("send chat Ada", 2, "nothing to send", "give --message TEXT"),
    .init("send chat Ada hello", 2, "'hello' is one word too many", "Did you mean '--message'?"),
    .init("send chat Ada --message ''", 2, "--message needs a value"),
    .init(
      "send chat Ada --file missing.jpg", 1, "no file missing.jpg", "look whether its name is right", isAlone: true),
    .init("send chat Ada --file folder", 1, "no plain file", "tar c folder", isAlone: true),
    .init(
      "send chat Ada --file secret", 1, "secret cannot be read: Permission denied", "chmod", isAlone: true,
      isUnprivileged: true),
    .init("send chat Ada --url example.org/x", 2, "does not begin with http", "One that can is http", isAlone: true),
    .init("adhoc my chat", 2, "'chat' is one word too many for 'vicinity adhoc [type]'", "quotation marks"),
    .init("serve 8080", 2, "'8080' is one word too many", "Did you mean '--port 8080'?"),
    .init("pair http://localhost:7777", 2, "one word too many for 'vicinity pair'"),
    .init("pair ABCD-EFGH", 2, "one word too many for 'vicinity pair'"),
    .init("doctor chat", 2, "one word too many for 'vicinity doctor'"),
    .init("browse chat -- --json", 2, "'--json' is one word too many", "Behind '--' nothing is an option"),
    .init("receive chat", 2, "nobody to ask", "give --accept", isAlone: true),
    .init("receive chat --accept --to-folder file", 1, "file is no folder", "choose another one", isAlone: true),
    .init("gather chat", 2, "nobody to choose", "'vicinity invite chat NAME'", isAlone: true),
    .init("completion tcsh", 2, "'tcsh' is none of bash, zsh, fish"),
    .init("completion", 2, "<bash|zsh|fish> is missing", "For example: source <(vicinity completion bash)"),
    .init("admin rest", 2, "'rest' is none of reset", "Did you mean 'reset'?"),
    .init("identity frobnicate", 2, "none of show, compare, trust"),
    .init("identity trust Ada", 2, "identity trust <peer id> <name>", "Say it as", isAlone: true),
    .init("identity trust abc Ada", 2, "no whole peer ID: it has 26", "'vicinity peers TYPE' shows", isAlone: true),
    .init("identity import none.p12", 1, "no file none.p12", "look whether its name is right", isAlone: true),
    .init(
      "invite chat Nobody --timeout 100ms", 3, "Nobody called 'Nobody' was found", "'vicinity doctor'", isAlone: true),
    .init(
      "peers chat --timeout 100ms", 3, "Nobody was found for 'chat' within 100 ms", "'vicinity doctor'", isAlone: true),
    .init("peers --timeout 100ms", 3, "Nobody was found within 100 ms", "'vicinity doctor'", isAlone: true),
  ]

  static let options: [WrongInput] = [
    .init("browse chat --jsn", 2, "no option --jsn", "Did you mean '--json'?"),
    .init("serve -p 8080", 2, "no option -p", "Did you mean '--port'?"),
    .init("serve --colour", 2, "serve has no option --colour"),
    .init("version --port 7", 2, "it belongs to serve"),
    .init("serve --port", 2, "--port needs a value"),
    .init("serve --port abc", 2, "from 0 to 65535, not 'abc'"),
    .init("serve --port 70000", 2, "from 0 to 65535, not '70000'"),
    .init("serve --port=-1", 2, "from 0 to 65535, not '-1'"),
    .init("serve --port ''", 2, "from 0 to 65535, not ''"),
    .init("browse chat --name A --name B", 2, "--name stands there twice", "leave one out"),
    .init("browse chat --json=yes", 2, "--json takes no value", "leave out what stands behind the '='"),
    .init("browse chat --name '  '", 2, "nothing that can be seen", "give it a letter", isAlone: true),
    .init("browse chat --name ''", 2, "--name needs a value that is not empty"),
    .init(
      "browse chat --name \(String(repeating: "x", count: 64))", 2, "64 bytes of UTF-8; at most 63", "shorten it",
      isAlone: true),
    .init("browse chat --name a\tb", 2, "control character U+0009", "use letters", isAlone: true),
    .init("peers chat --timeout 1x", 2, "takes a time such as 30, 1.5s", "not '1x'"),
    .init("peers chat --timeout -1", 2, "takes a time such as 30, 1.5s", "not '-1'"),
    .init("serve --disk-free-bytes-min 10M", 2, "takes a whole number from 0", "not '10M'"),
    .init("serve --log-level trace", 2, "takes error or warning or info or debug"),
    .init("serve --log JSON", 2, "takes text or json", "Did you mean 'json'?"),
    .init("peers chat --at myhost", 2, "takes an address with its port, such as 10.0.0.5:7777", "not 'myhost'"),
    .init("peers chat --at myhost:7777", 2, "no IPv4 or IPv6 address", "write it as a number", isAlone: true),
    .init("peers chat --at http://myhost:7777", 2, "not the URL", "such as 10.0.0.5:7777"),
    .init("peers chat --at fe80::1", 2, "an IPv6 address stands in brackets", "[fe80::1%eth0]:7777"),
    .init(
      "peers chat --at 127.0.0.1:7 --discovery avahi", 2, "goes with --discovery static", "leave one of the two out"),
    .init("browse chat --discovery avhi", 2, "takes avahi or static", "Did you mean 'avahi'?"),
    .init("advertise chat --info room", 2, "takes a key and a value", "such as room=7"),
  ]

  static let places: [WrongInput] = [
    .init("pair", 3, "No gateway runs with the folder", "start one with 'vicinity serve'"),
    .init("pair --folder /nowhere", 3, "No gateway runs with the folder /nowhere", "with --folder"),
    .init("admin reset", 3, "no gateway in the folder", "name its folder with --folder"),
    .init("backup", 2, "<place> is missing", "For example: vicinity backup"),
    .init("serve --keys ephemeral", 2, "leaves the gateway no folder", "name one with --folder"),
    .init("serve --folder file --port 0", 1, "file/", "choose another with --folder", isAlone: true),
    .init(
      "serve --folder locked/gateway --port 0", 1, "Permission denied", "choose another with --folder", isAlone: true,
      isUnprivileged: true),
    .init("browse chat --keys file --discovery static", 1, "Not a directory", "name another one"),
    .init(
      "browse chat --keys locked/keys --discovery static", 1, "Permission denied",
      "a folder that this user may write to",
      isUnprivileged: true),
    .init("serve --config none.conf", 2, "no file none.conf", "with --config"),
    .init("serve --config folder", 2, "cannot be read: Is a directory", "name another file with --config"),
    .init("serve --config wrong.conf", 2, "wrong.conf:2: Nobody knows 'prot'. Did you mean 'port'?", "--show-config"),
    .init("serve --site file --folder gateway --port 0", 2, "--site names a folder with an index.html", isAlone: true),
    .init("serve --certificate none", 2, "--certificate and --key go together", "give both"),
    .init("serve --base-path vicinity", 2, "a slash, then letters", "such as /vicinity"),
    .init("serve --base-path /a/../b", 2, "not '/a/../b'", "such as /vicinity"),
    .init("serve --base-path /a//b", 2, "one slash between its parts", "such as /vicinity"),
    .init("serve --base-path //example.org", 2, "one slash between its parts", "such as /vicinity"),
    .init("serve --base-path /a?b=c", 2, "letters, digits and -._~", "not '/a?b=c'"),
    .init("serve --base-path '/my path'", 2, "letters, digits and -._~", "not '/my path'"),
    .init("serve --base-path ''", 2, "takes a path of at most 128 bytes", "such as /vicinity"),
    .init("serve --base-path /\(String(repeating: "x", count: 128))", 2, "at most 128 bytes", "such as /vicinity"),
    .init("serve --base-path /v1", 2, "the first is none of the gateway's own", "such as /vicinity"),
    .init(
      "serve --listen 127.0.0.1:TAKEN --folder gateway", 1, "port TAKEN is in use by ", "stop that or use --port",
      isAlone: true),
    .init(
      "serve --listen 127.0.0.1:80 --folder gateway", 1, "port 80 is not for this user", "use --port", isAlone: true,
      isUnprivileged: true),
    .init("serve --origin example.org", 2, "takes an origin", "such as https://stage.example"),
  ]
}

/// Nobody is left with a sentence that says no and nothing else.
@Suite(.ownThread, .serialized) struct WrongInputTests {
  private let folder = TemporaryFolder()
  init() throws {
    for name in ["folder", "locked"] { mkdir("\(folder.path)/\(name)", name == "locked" ? 0 : 0o700) }
    try Data("x".utf8).write(to: URL(filePath: "\(folder.path)/file"))
    try Data("x".utf8).write(to: URL(filePath: "\(folder.path)/secret"))
    chmod("\(folder.path)/secret", 0)
    try Data("# the gateway\nprot = 7777\n".utf8).write(to: URL(filePath: "\(folder.path)/wrong.conf"))
  }

  /// Takes from root what keeps no user out.
  private static let unprivileged =
    geteuid() == 0 ? ["setpriv", "--bounding-set=-net_bind_service,-dac_override,-dac_read_search"] : []

  @Test(
    "A line that cannot be carried out is answered with what is wrong and what to do",
    arguments: WrongInput.commands + WrongInput.types + WrongInput.arguments + WrongInput.options + WrongInput.places)
  func wrong(_ input: WrongInput) throws {
    let holder = try Descriptor.listening(at: .loopback(port: 0))
    let port = try #require(try holder.localAddress()).port
    func filled(_ text: String) -> String { text.replacing("TAKEN", with: "\(port)") }
    let program = try Program(
      input.words.map(filled), .noInput, in: folder.path, through: input.isUnprivileged ? Self.unprivileged : [])
    #expect(try program.ended() == input.code, "\(program.err)")
    let said = program.err
    let sentence = said.split(separator: "\n").first { $0.hasPrefix("vicinity: ") } ?? ""
    #expect(sentence.contains(filled(input.cause)), "\(said)")
    let command = input.words.first { !$0.hasPrefix("-") } ?? ""
    let help = "'vicinity help \(command)' explains it, with examples."
    if let cure = input.cure { #expect(sentence.contains(cure), "\(said)") } else { #expect(said.contains(help)) }
    // A command that is known, and was used in a way that it is not, is explained besides.
    let isExplained =
      Syntax.vicinity.command(command) != nil && input.code == 2 && !sentence.contains("no command '")
      && !sentence.contains("--config") && !sentence.contains("wrong.conf")
    if isExplained { #expect(said.contains(help), "\(said)") }
    // A command that was understood may have begun before its search came to nothing.
    if input.code < 3, !input.words.contains("--json") { #expect(program.out.isEmpty, "\(program.out)") }
  }

  @Test(
    "First attempts of people are answered",
    arguments: [
      ("", "First steps:"), ("-h", "First steps:"), ("--help", "First steps:"), ("help", "First steps:"),
      ("help serve", "Usage:  vicinity serve"), ("serve -h", "Usage:  vicinity serve"),
      ("--help serve", "Usage:  vicinity serve"), ("peers --json --help", "Usage:  vicinity peers"),
      ("serve --port x --help", "Usage:  vicinity serve"), ("--version", "vicinity \(Vicinity.version)"),
      ("-v", "vicinity \(Vicinity.version)"), ("-V", "vicinity \(Vicinity.version)"),
      ("version", "vicinity \(Vicinity.version)"),
    ])
  func firstSteps(_ line: String, _ answer: String) throws {
    let program = try Program(line.split(separator: " ").map(String.init), .noInput)
    #expect(try program.ended() == 0, "\(program.err)")
    #expect(program.out.contains(answer), "\(program.out)")
    #expect(program.err.isEmpty)
  }

  @Test("A reader that takes one line and goes does no harm")
  func closedPipe() throws {
    for words in [["help"], ["help", "serve"], ["completion", "bash"]] {
      let line = "\"$@\" | head -n 1; exit ${PIPESTATUS[0]}"
      let program = try Program(words, .noInput, through: ["bash", "-c", line, "bash"])
      #expect(try program.ended() == 0, "\(program.err)")
      #expect(program.err.isEmpty, "\(program.err)")
      #expect(program.out.split(separator: "\n").count == 1)
    }
  }
}
