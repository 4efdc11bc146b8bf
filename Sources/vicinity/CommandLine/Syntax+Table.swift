internal import Nearby

/// Every command and option.
extension Syntax {
  static let vicinity = Syntax(commands: [
    serve, pair, admin, backup, advertise, browse, invite, gather, adhoc, chat, send, receive, peers, identity, radio,
    doctor,
    completion,
    help,
    version,
  ])

  /// Short options of one letter, as in other programs.
  static let letters = [
    "a": "at", "c": "config", "f": "file", "j": "json", "k": "keys", "m": "message", "n": "name", "o": "output",
    "p": "port", "q": "quiet", "t": "timeout", "v": "log-level",
  ]

  // MARK: Commands

  private static let advertise = CommandSyntax(
    name: "advertise", summary: "let others find this peer and invite it", arguments: [type],
    options: session + host(timeout: "end after this time") + output,
    text: [
      "Others nearby that browse for the type find this peer and can invite it. Each invitation is shown, and waits for "
        + "/accept or /decline; --accept accepts all. Events of the session are shown until it is left.",
      SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity advertise chat", says: "be found by peers that browse for 'chat'"),
      .init(
        line: "vicinity advertise chat --info room=7 --accept", says: "with discovery info; accept every invitation"),
      .init(
        line: "vicinity advertise lab --json --accept", says: "for programs: JSON lines on output, commands on input"),
    ], synonyms: ["announce", "publish", "register"])

  private static let browse = CommandSyntax(
    name: "browse", summary: "watch peers appear and disappear", arguments: [type],
    options: host(timeout: "end after this time") + output,
    text: ["Shows found and lost peers, and changes of their info, until it is interrupted."],
    examples: [
      .init(line: "vicinity browse chat", says: "watch who advertises 'chat'"),
      .init(
        line: "vicinity browse chat --json | jq -r 'select(.event==\"found\").name'", says: "names, as they are found"),
      .init(line: "vicinity browse chat --at 10.0.0.5:7777", says: "only this host, in networks without multicast"),
    ], synonyms: ["scan", "discover", "search", "find", "watch"])

  private static let invite = CommandSyntax(
    name: "invite", summary: "invite a peer and stay in the session", arguments: [type, who],
    options: [
      .init(name: "context", value: .text("TEXT"), summary: "a text that the invited peer sees with the invitation"),
      hidden,
    ] + session + host(timeout: "how long to look for the peer and to wait for its answer (30)") + output,
    text: [
      "Waits until the peer is nearby, invites it, and stays connected until the session is left. Others find this peer "
        + "meanwhile, and can invite it, as long as there is somebody to ask or --accept is given.", SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity invite chat Ada", says: "by a name that only one peer nearby has"),
      .init(line: "vicinity invite chat k3xq --timeout 10", says: "by the beginning of its ID, within 10 s"),
      .init(line: "vicinity invite chat Ada --context 'from the workshop'", says: "say who invites"),
    ], synonyms: ["connect", "call", "dial"])

  private static let gather = CommandSyntax(
    name: "gather", summary: "choose the members of a session from a list of nearby peers", arguments: [type],
    options: [
      .init(
        name: "only", value: .text("WORD|KEY=VALUE"),
        summary: "list only peers whose name contains this word, or whose info has this value", isRepeatable: true),
      .init(
        name: "peers-min", value: .number("N", 1...10_000), summary: "peers that /done requires, including this one",
        defaultValue: "\(Gathering.peersMin)"),
      .init(name: "context", value: .text("TEXT"), summary: "a text that the invited peers see with the invitation"),
      hidden,
    ]
      + session.map { option in
        guard option.name == "peers-max" else { return option }
        var option = option
        (option.summary, option.defaultValue) = ("peers in the session, including this one", "\(Gathering.peersMax)")
        return option
      } + host(timeout: "how long the invited have to answer (30)") + output,
    text: [
      "Lists nearby peers with their state: nearby, invited, connecting, connected, declined. /invite NAME invites one "
        + "into the session; /done, once there are enough, ends the list and stays in the session; /cancel gives up, with "
        + "exit code 1. Others find this peer meanwhile, and can invite it.",
      SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity gather game", says: "2 to 8 peers, with this one"),
      .init(line: "vicinity gather game --only level=3 --peers-min 4 --peers-max 4", says: "four of one level"),
    ])

  private static let adhoc = CommandSyntax(
    name: "adhoc", summary: "connect with everybody nearby, and watch what happens", arguments: [optionalType],
    options: session + host(timeout: "end after this time") + output,
    text: [
      "Everybody nearby who runs this with the same type is connected, without asking; the default type is "
        + "'\(SharedHelp.adhocType)'. Each event is shown with its time. The first start asks for a name, and stores it.",
      SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity adhoc", says: "meet everybody who runs the same"),
      .init(line: "vicinity adhoc workshop --name 'Ada'", says: "only those of one type, under another name"),
    ], synonyms: ["join", "meet"])

  private static let chat = CommandSyntax(
    name: "chat", summary: "talk with everybody nearby, and share files", arguments: [type],
    options: session + host(timeout: "end after this time") + output,
    text: [
      "Everybody nearby who chats with the same type is in. A line is a message to all; /send shares a file, with its "
        + "progress shown on both sides.",
      SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity chat workshop", says: "join"),
      .init(line: "vicinity chat workshop --to-folder ~/Pictures", says: "take files without asking, into a folder"),
    ], synonyms: ["talk", "message", "msg"])

  private static let send = CommandSyntax(
    name: "send", summary: "send messages, files or a stream to one peer, then end", arguments: [type, who],
    options: [
      .init(name: "message", value: .text("TEXT"), summary: "a message", isRepeatable: true),
      .init(
        name: "unreliable", value: .none,
        summary: "best effort: send messages immediately, without acknowledgement or retransmission"),
      .init(
        name: "file", value: .file("PATH"), summary: "a file; all words behind it are files too", isRepeatable: true,
        isGreedy: true),
      .init(
        name: "url", value: .text("URL"),
        summary: "the content of an http or https URL, which this machine fetches, or a file:///PATH",
        isRepeatable: true),
      .init(name: "stream", value: .text("NAME"), summary: "standard input, as a stream of this name"),
      .init(name: "context", value: .text("TEXT"), summary: "a text that the peer sees with the invitation"),
      encryption, shownIdentity, trust, store,
    ] + host(timeout: "how long to look for the peer and to wait for its answer (30)") + output,
    text: [
      "Invites the peer, sends in the order messages, files, addresses, stream, and ends when the peer has all of it. An "
        + "interrupted file transfer resumes when the peer is back."
    ],
    examples: [
      .init(line: "vicinity send chat Ada --message 'Soup is ready'", says: "one message"),
      .init(line: "vicinity send photos Ada --file *.jpg", says: "files, with progress, rate and time left"),
      .init(line: "tar c docs | vicinity send backup k3xq --stream docs.tar", says: "standard input as a stream"),
    ], synonyms: ["share", "upload", "put", "copy"])

  private static let receive = CommandSyntax(
    name: "receive", summary: "receive files and streams", arguments: [type],
    options: [
      .init(name: "output", value: .file("FILE"), summary: "where streams go (-: standard output)"),
      .init(name: "once", value: .none, summary: "end when the first sender is done"),
    ] + session + host(timeout: "end if nobody has connected in this time") + output,
    text: [
      "Advertises the type and receives from members of the session: files into a folder (default: this one), "
        + "streams to standard output, one after another. All else, messages too, goes to standard error. Each "
        + "invitation waits for an answer, unless --accept is given. After a crash, a new start with the same type resumes "
        + "the files in progress.",
      SharedHelp.console,
    ],
    examples: [
      .init(line: "vicinity receive photos --to-folder in", says: "ask who may send, files into the folder 'in'"),
      .init(line: "vicinity receive backup --accept --once | tar x", says: "unpack one stream as it arrives"),
    ], synonyms: ["get", "download", "listen"])

  private static let peers = CommandSyntax(
    name: "peers", summary: "list who is nearby now", arguments: [optionalType],
    options: host(timeout: "how long to look (3)") + output,
    text: [
      "Browses for a while, shows a table, and ends. Without a type it asks the hosts nearby which types their peers "
        + "advertise, and lists all of these; hosts of older releases do not answer that."
    ],
    examples: [
      .init(line: "vicinity peers", says: "everybody nearby, of all types"),
      .init(line: "vicinity peers chat", says: "peers that advertise 'chat'"),
      .init(line: "vicinity peers chat --timeout 10 --json", says: "look longer, as JSON lines"),
    ], synonyms: ["list", "ls", "who", "show"])

  private static let identity = CommandSyntax(
    name: "identity", summary: "show this peer's identity, and verify others",
    arguments: [
      .init(
        name: "action", summary: "what to do, as below (show)", isOptional: true,
        choices: IdentityCommand.Action.allCases.map(\.rawValue)),
      .init(name: "words", summary: "what it is about", isOptional: true, isRest: true),
    ],
    options: [
      .init(
        name: "password-file", value: .file("FILE"),
        summary: "file with the password of a .p12 file (-: standard input; default: a prompt)")
    ] + host(timeout: "how long to look for the peer (30)") + output,
    text: IdentityCommand.Action.allCases.map { "\($0.usage): \($0.summary)" },
    examples: [
      .init(line: "vicinity identity", says: "the ID that others see, and all that is known of others"),
      .init(line: "vicinity identity compare chat Ada", says: "compare codes with Ada, who advertises 'chat'"),
      .init(
        line: "vicinity identity trust k3xqd7kzwvfyrm5ulc2nbtoaje Ada",
        says: "trust a peer by an ID from a reliable source"),
      .init(line: "vicinity identity import ann.p12", says: "store a private key with its certificates"),
    ], synonyms: ["id", "whoami", "key", "keys", "trust"])

  private static let doctor = CommandSyntax(
    name: "doctor", summary: "find out why peers do not see each other", arguments: [],
    options: host(timeout: "how long to listen for others (3)") + output,
    text: [
      "Tries what discovery and connections need: the discovery daemon and D-Bus, interfaces and addresses, multicast, "
        + "the port, the firewall, the access point, shared folders, the key. Each finding has a state and, if it is a problem, the remedy. "
        + "Some firewall rules can be read by root only."
    ],
    examples: [
      .init(line: "vicinity doctor", says: "look at everything"),
      .init(line: "vicinity doctor --medium folder:/srv/meet", says: "whether hosts can meet in that folder"),
      .init(line: "sudo vicinity doctor --port 7777", says: "the firewall's rules too, for links at this port"),
    ], synonyms: ["status", "check", "diagnose", "test", "debug"])

  private static let radio = CommandSyntax(
    name: "radio", summary: "make a Wi-Fi network without an access point",
    arguments: [
      .init(
        name: "action", summary: "what to do, as below: list if not told", isOptional: true,
        choices: RadioCommand.Action.allCases.map(\.rawValue)),
      .init(name: "words", summary: "what it is about", isOptional: true, isRest: true),
    ],
    options: [
      .init(name: "radio", value: .text("NAME"), summary: "the radio, such as wlan0 (the first that can do it)"),
      .init(
        name: "frequency", value: .number("MHZ", RadioPlan.frequencies), summary: "the middle of its channel",
        defaultValue: "\(RadioPlan.frequency)"),
      .init(
        name: "password-file", value: .file("FILE"),
        summary: "where the password of a mesh is (-: standard input); without one it is open"),
      .init(name: "force", value: .none, summary: "even if the radio is connected, which may drop"),
      .init(name: "timeout", value: .duration, summary: "end after this time"),
    ] + output,
    text: RadioCommand.Action.allCases.map { "\($0.usage): \($0.summary)" } + [
      "A network lasts as long as the command that made it. It takes wpa_supplicant, and the right to ask it (root, or the "
        + "group 'netdev'). Hosts in it find each other as on any network."
    ],
    examples: [
      .init(line: "vicinity radio", says: "which radios there are"),
      .init(line: "sudo vicinity radio p2p start", says: "a network for phones and others, with a code to join it"),
      .init(line: "sudo vicinity radio mesh join workshop", says: "be in a mesh with whoever says the same"),
      .init(line: "sudo vicinity radio stop", says: "end what a killed command has left"),
    ], synonyms: ["wifi", "hotspot", "p2p", "mesh"])

  private static let completion = CommandSyntax(
    name: "completion", summary: "print a script by which a shell completes commands and options",
    arguments: [.init(name: "shell", summary: "the shell", choices: Completion.Shell.allCases.map(\.rawValue))],
    options: [], text: [],
    examples: [
      .init(line: "source <(vicinity completion bash)", says: "for this bash"),
      .init(
        line: "vicinity completion zsh > ~/.zfunc/_vicinity", says: "for each zsh, where ~/.zfunc is in its fpath"),
      .init(line: "vicinity completion fish > ~/.config/fish/completions/vicinity.fish", says: "for each fish"),
    ])

  private static let help = CommandSyntax(
    name: "help", summary: "explain the program, or one command",
    arguments: [.init(name: "command", summary: "what to explain", isOptional: true)],
    options: [.init(name: "man", value: .none, summary: "as a manual page, in roff")], text: [],
    examples: [
      .init(line: "vicinity help send", says: "the same as 'vicinity send --help'"),
      .init(line: "vicinity help send --man | man -l -", says: "what 'man vicinity-send' shows"),
    ])

  private static let version = CommandSyntax(
    name: "version", summary: "print the version", arguments: [], options: output, text: [], examples: [])

  // MARK: Arguments

  private static let type = ArgumentSyntax(
    name: "type", summary: "what kind of peers look for each other, such as chat: 1 to 15 of a-z, 0-9 and hyphens",
    isServiceType: true)
  private static let optionalType = ArgumentSyntax(
    name: "type", summary: type.summary, isOptional: true, isServiceType: true)
  private static let who = ArgumentSyntax(
    name: "peer", summary: "its ID, the beginning of it, or a name that only one peer nearby has")

  // MARK: Options

  private static let encryption = OptionSyntax(
    name: "encryption", value: .choice(["optional", "required", "none"]),
    summary:
      "encryption preference: members with a conflicting one are kept out; connections are always encrypted (optional)",
    group: .session)

  private static let shownIdentity = OptionSyntax(
    name: "identity", value: .text("WORD"),
    summary: "show members the security identity whose subject has this word in it", group: .session)

  private static let store = OptionSyntax(
    name: "store", value: .file("FILE|none"),
    summary: "store the session in this file, and resume from it after a crash (none; receive: beside the keys)",
    group: .session)

  private static let hidden = OptionSyntax(
    name: "no-advertise", value: .none,
    summary: "look for others without being found: else they find and invite this peer too")

  private static let trust = OptionSyntax(
    name: "trust", value: .choice(["any", "known", "anchors", "ask"]),
    summary:
      "admission policy: everybody; known peers; certificates under a trust anchor; ask (any)",
    group: .session)

  private static let session: [OptionSyntax] = [
    .init(
      name: "info", value: .pair, summary: "discovery info, which browsers see of this peer", group: .session,
      isRepeatable: true),
    .init(name: "accept", value: .none, summary: "accept all invitations without asking", group: .session),
    .init(
      name: "to-folder", value: .folder("FOLDER"), summary: "accept all files without asking, into this folder",
      group: .session),
    encryption, shownIdentity, trust, store,
    .init(
      name: "until", value: .choice(["stopped", "connected", "full"]),
      summary:
        "when browsing and advertising stop automatically: never, once connected, or once the session is full (stopped)",
      group: .session),
    .init(
      name: "peers-max", value: .number("N", 2...10_000), summary: "peers in the session, including this one (256)",
      group: .session),
  ]

  static func host(timeout: String) -> [OptionSyntax] {
    [
      .init(
        name: "name", value: .text("NAME"), summary: "what others see (the stored one, or user@host)", group: .host,
        isInEnvironment: true),
      .init(
        name: "keys", value: .folder("FOLDER|ephemeral"),
        summary: "folder of this host's private keys; 'ephemeral': not stored (the user's data folder)", group: .host,
        isInEnvironment: true),
      .init(
        name: "medium", value: .medium,
        summary:
          "how hosts meet: lan (the default), folder:PATH (of this machine), bluetooth, relay (through any others)",
        group: .host, isRepeatable: true, isInEnvironment: true),
      .init(
        name: "relay-for", value: .choice(["all", "members", "nobody"]),
        summary: "whose links this host passes on, with several media (members; with --medium relay: all)",
        group: .host, isInEnvironment: true),
      .init(
        name: "relay-links", value: .number("N", 1...1_024),
        summary: "how many links of others it passes on at a time, of which a quarter of one host (128)", group: .host,
        isInEnvironment: true),
      .init(
        name: "relay-rate", value: .number("KB", 1...100_000_000),
        summary: "the kilobytes a second that it passes on for others (no limit)", group: .host,
        isInEnvironment: true),
      .init(
        name: "discovery", value: .choice(["avahi", "static", "none"]),
        summary: "how others are found on the network: by the Avahi daemon, at --at only, or not at all (avahi)",
        group: .host,
        isInEnvironment: true),
      .init(
        name: "at", value: .address, summary: "address of another host, with --discovery static", group: .host,
        isRepeatable: true, isGreedy: true),
      .init(
        name: "port", value: .number("N", 0...65_535), summary: "port on which this host listens (any that is free)",
        group: .host, isInEnvironment: true),
      .init(
        name: "busy-poll", value: .choice(["on", "off"]),
        summary: "poll for 60 µs before sleeping, while answers come at once (on)", group: .host,
        isInEnvironment: true),
      .init(name: "timeout", value: .duration, summary: timeout, group: .host),
    ]
  }

  static let output: [OptionSyntax] = [
    .init(
      name: "json", value: .none, summary: "JSON lines: one object per line on standard output, nothing else",
      group: .output),
    .init(name: "no-color", value: .none, summary: "no colours, as with NO_COLOR=1", group: .output),
    .init(name: "quiet", value: .none, summary: "only results and errors", group: .output),
  ]
}

/// Texts that several help pages share.
private enum SharedHelp {
  static let adhocType = AdhocCommand.defaultType
  static let console =
    "While it runs, it reads commands from standard input: text is sent to all; /to NAME TEXT, /send PATH [to NAME], /stream NAME, "
    + "/accept, /decline, /peers, /nearby, /invite NAME, /leave, /quit; /help explains them. With --json the slash is optional."
}
