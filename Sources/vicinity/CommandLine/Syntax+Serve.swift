internal import Gateway

/// The gateway's commands. All options of `serve`, but those about the command line itself, can also be set in the
/// environment and in a configuration file.
extension Syntax {
  static let serve = CommandSyntax(
    name: "serve", summary: "be a gateway: browsers, scripts and services join nearby sessions through it",
    arguments: [],
    options: (web + place + network + running + limits + output).configured + [config] + [
      .init(name: "show-config", value: .none, summary: "show what holds, and who said so, and end")
    ],
    text: [
      "REST, WebSockets, the dashboard and the links of other hosts share one port, 7777 if not told, with HTTPS and "
        + "without. Whoever has the pairing code becomes an operator, and lets others in from there; that takes HTTPS, "
        + "or a browser on this machine. Devices that trust the authority at /v1/gateway/authority do not warn.",
      "Each option may also stand as VICINITY_NAME in the environment (several values parted by spaces), or in a file "
        + "as a line 'name = value': what is said here goes before the environment, and that before the file. The file "
        + "is the one of --config; otherwise ~/.config/vicinity/vicinity.conf or, where there is none, "
        + "/etc/vicinity/vicinity.conf.",
    ],
    examples: [
      .init(line: "vicinity serve", says: "then open the page that it names"),
      .init(line: "vicinity serve --open", says: "in a browser that this opens"),
      .init(line: "vicinity serve --listen 127.0.0.1 --discovery none", says: "for this machine alone"),
      .init(line: "vicinity serve --name Stage --port 8080", says: "under another name, at another port"),
      .init(line: "vicinity serve --certificate box.crt --key box.key", says: "with a certificate of one's own"),
      .init(line: "vicinity serve --port 8080 --show-config", says: "all that would hold, and who says so"),
    ], synonyms: ["start", "run", "web", "gateway", "daemon", "dashboard", "open", "ui"])

  static let pair = CommandSyntax(
    name: "pair", summary: "show a new pairing code of the gateway that runs on this machine", arguments: [],
    options: [
      .init(
        name: "role", value: .choice(["viewer", "member", "operator"]), summary: "for whom the code is",
        defaultValue: "operator"),
      .init(
        name: "scope", value: .text("PART"), summary: "a part of the gateway that the client may use (all)",
        isRepeatable: true),
    ] + place.configured + [config] + output,
    text: [
      "The gateway is asked by a socket in its folder, which its own user and root may open, so that no code stands in a "
        + "log. The code is for one use and ends after ten minutes. On a terminal it is shown for a phone's camera too. "
        + "The folder is found as the gateway finds it: on the line, in the environment or in its file.",
      "The parts of a gateway are \(Gateway.scopes.joined(separator: ", ")).",
    ],
    examples: [
      .init(line: "vicinity pair", says: "for a gateway of the same user"),
      .init(line: "sudo vicinity pair --folder /var/lib/vicinity --role member", says: "for one that is a service"),
      .init(line: "vicinity pair --role member --scope sessions --scope messages", says: "for one that only talks"),
      .init(line: "vicinity pair --role viewer --json | jq -r .url", says: "the address of a page that takes the code"),
    ], synonyms: ["login", "code", "token"])

  static let admin = CommandSyntax(
    name: "admin", summary: "let a new operator in where the token was lost, on the gateway's own machine",
    arguments: [
      .init(name: "action", summary: "what to do", choices: AdminCommand.Action.allCases.map(\.rawValue))
    ],
    options: [
      .init(name: "everybody", value: .none, summary: "end the tokens of members and viewers, too")
    ] + place.configured + [config] + output,
    text: AdminCommand.Action.allCases.map { "\($0.usage): \($0.summary)" },
    examples: [
      .init(line: "vicinity admin reset", says: "the operators' tokens are worth nothing any more"),
      .init(line: "sudo vicinity admin reset --everybody --folder /var/lib/vicinity", says: "nobody's is"),
    ])

  static let backup = CommandSyntax(
    name: "backup", summary: "copy all that a gateway keeps, while it runs",
    arguments: [.init(name: "place", summary: "a folder that is made")],
    options: place.configured + [config] + output,
    text: [
      "Keys, clients, sessions, messages and files, as they are together at one moment. The gateway makes the copy where "
        + "one runs, and goes on meanwhile; so the folder is its user's. A gateway that starts with the copy is the same "
        + "one to everybody: stop the other one first. Clients then read their lists anew.",
      "To go on from a copy: vicinity serve --keys COPY --folder COPY/gateway",
    ],
    examples: [.init(line: "vicinity backup ~/vicinity-monday", says: "a copy")])

  private static let config = OptionSyntax(
    name: "config", value: .file("FILE"), summary: "a file of 'name = value' lines", isInEnvironment: true)

  private static let web: [OptionSyntax] = [
    .init(
      name: "host-name", value: .form(.hostName), summary: "a name under which clients may ask, beside the addresses",
      isRepeatable: true),
    .init(
      name: "origin", value: .form(.origin), summary: "pages of others that may ask, such as https://stage.example",
      isRepeatable: true),
    .init(
      name: "certificate", value: .file("FILE"),
      summary: "what HTTPS is spoken with, as PEM; goes with --key (made by an authority of the gateway's own)"),
    .init(name: "key", value: .file("FILE"), summary: "the key of --certificate, as PEM without a password"),
    .init(
      name: "https-only", value: .none,
      summary: "send requests in the clear to HTTPS (308), but for those of this machine itself"),
    .init(
      name: "trusted-proxy", value: .form(.addresses),
      summary: "proxies that are believed when they say who asks (Forwarded, X-Forwarded-For, -Proto, -Host)",
      isRepeatable: true),
    .init(
      name: "base-path", value: .form(.basePath),
      summary: "the path below which clients find it, such as /vicinity, where a proxy serves others beside it"),
    .init(
      name: "metrics-from", value: .form(.addresses),
      summary: "addresses that are told /metrics without a token, such as 10.0.0.0/8, beside this machine's own",
      isRepeatable: true),
    .init(
      name: "away-after", value: .duration,
      summary: "how long a client may be gone before its peers are shown as away", defaultValue: "60"),
    .init(name: "site", value: .folder("FOLDER"), summary: "another dashboard than the one that comes along"),
    .init(name: "no-dashboard", value: .none, summary: "serve programs alone, and no pages"),
    .init(name: "show-code", value: .none, summary: "tell the pairing code where there is no terminal, too"),
    .init(
      name: "code-role", value: .choice(["viewer", "member", "operator"]), summary: "for whom that code is",
      defaultValue: "operator"),
    .init(name: "code-life", value: .duration, summary: "how long pairing codes live", defaultValue: "10m"),
    .init(name: "open", value: .none, summary: "open the dashboard in this user's browser, with a code of its own"),
  ]

  private static let running: [OptionSyntax] = [
    .init(
      name: "drain-time", value: .duration,
      summary: "how long requests, streams and files under way may take once it is told to end", defaultValue: "10"),
    .init(
      name: "scrub-time", value: .duration,
      summary: "time over which a check of all stored files and rows is spread; 0 for none",
      defaultValue: "1d"),
    .init(
      name: "log", value: .choice(["text", "json"]), summary: "how it tells on standard error what happens",
      defaultValue: "text"),
    .init(
      name: "log-level", value: .choice(LogRecord.Level.allCases.map(\.rawValue)),
      summary: "the least urgent that it tells (info; warning on a terminal)"),
  ]

  private static let limits = GatewayLimits.all.map { limit in
    OptionSyntax(
      name: limit.option, value: .number("N", limit.range), summary: limit.summary,
      defaultValue: String(GatewayLimits()[limit]))
  }

  private static let place: [OptionSyntax] = [
    .init(
      name: "folder", value: .folder("FOLDER"),
      summary: "what the gateway keeps, and files on their way (beside the keys)"),
    .init(
      name: "keys", value: .folder("FOLDER|ephemeral"),
      summary: "where the gateway keeps who it is; 'ephemeral': nowhere (the user's data folder)", group: .host),
  ]

  private static let network: [OptionSyntax] =
    host(timeout: "").compactMap { option in
      var option = option
      switch option.name {
      case "timeout", "keys": return nil
      case "port": (option.summary, option.defaultValue) = ("where clients and other hosts connect", "7777")
      default: break
      }
      return option
    } + [
      .init(
        name: "listen", value: .form(.listenAddress),
        summary: "an address of this machine at which it listens, perhaps with the port (all addresses)",
        group: .host, isRepeatable: true)
    ]
}
