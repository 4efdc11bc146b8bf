internal import Gateway

/// The gateway's commands. All options of `serve`, but those about the command line itself, can also be set in the
/// environment and in a configuration file.
extension Syntax {
  static let serve = CommandSyntax(
    name: "serve", summary: "run a gateway, through which browsers, scripts and services join nearby sessions",
    arguments: [],
    options: (web + place + network + running + limits + output).configured + [config] + [
      .init(
        name: "show-config", value: .none,
        summary: "print the effective configuration with the source of each value, and exit")
    ],
    text: [
      "REST, WebSockets, the dashboard and the links of other hosts share one port (default: 7777), with HTTPS and "
        + "without. The first client to use the pairing code becomes an operator, and can create codes for others; that "
        + "takes HTTPS, or a browser on this machine. Devices that trust the certificate authority at "
        + "/v1/gateway/authority show no warning.",
      "Each option can also be set as the environment variable VICINITY_NAME (several values separated by spaces), or "
        + "in a configuration file as 'name = value'. The command line takes precedence over the environment, and that "
        + "over the file. The file is the one of --config; otherwise ~/.config/vicinity/vicinity.conf or, where there is none, "
        + "/etc/vicinity/vicinity.conf.",
    ],
    examples: [
      .init(line: "vicinity serve", says: "then open the page whose address it prints"),
      .init(line: "vicinity serve --open", says: "opens the page in a browser"),
      .init(line: "vicinity serve --listen 127.0.0.1 --discovery none", says: "for this machine only"),
      .init(line: "vicinity serve --name Stage --port 8080", says: "with another name and port"),
      .init(line: "vicinity serve --certificate box.crt --key box.key", says: "with your own certificate"),
      .init(line: "vicinity serve --port 8080 --show-config", says: "the effective configuration and its sources"),
    ], synonyms: ["start", "run", "web", "gateway", "daemon", "dashboard", "open", "ui"])

  static let pair = CommandSyntax(
    name: "pair", summary: "create a pairing code for the gateway that runs on this machine", arguments: [],
    options: [
      .init(
        name: "role", value: .choice(["viewer", "member", "operator", "admin"]),
        summary: "the role that the code gives",
        defaultValue: "operator"),
      .init(
        name: "scope", value: .text("PART"), summary: "a part of the gateway that the client may use (all)",
        isRepeatable: true),
    ] + place.configured + [config] + output,
    text: [
      "The request goes over a socket in the gateway's folder, which only its own user and root can open, so codes do "
        + "not appear in logs. The code is valid once and expires after ten minutes. On a terminal it is also shown as a "
        + "QR code. The folder is configured as for the gateway: command line, environment or file.",
      "The parts of a gateway are \(Gateway.scopes.joined(separator: ", ")).",
    ],
    examples: [
      .init(line: "vicinity pair", says: "for a gateway of the same user"),
      .init(line: "sudo vicinity pair --folder /var/lib/vicinity --role member", says: "for one that is a service"),
      .init(
        line: "vicinity pair --role member --scope sessions --scope messages",
        says: "a code for one that only sends messages"),
      .init(line: "vicinity pair --role viewer --json | jq -r .url", says: "the address of a page that uses the code"),
    ], synonyms: ["login", "code", "token"])

  static let admin = CommandSyntax(
    name: "admin", summary: "recover access if the operator's token was lost, on the gateway's own machine",
    arguments: [
      .init(name: "action", summary: "what to do", choices: AdminCommand.Action.allCases.map(\.rawValue))
    ],
    options: [
      .init(name: "everybody", value: .none, summary: "revoke the tokens of members and viewers, too")
    ] + place.configured + [config] + output,
    text: AdminCommand.Action.allCases.map { "\($0.usage): \($0.summary)" },
    examples: [
      .init(line: "vicinity admin reset", says: "revoke all tokens of operators"),
      .init(line: "sudo vicinity admin reset --everybody --folder /var/lib/vicinity", says: "revoke all tokens"),
    ])

  static let backup = CommandSyntax(
    name: "backup", summary: "make a backup of all data of a gateway, while it runs",
    arguments: [.init(name: "place", summary: "a new folder")],
    options: place.configured + [config] + output,
    text: [
      "A consistent snapshot of keys, clients, sessions, messages and files. If the gateway runs, it makes the copy and "
        + "continues meanwhile; so the folder belongs to its user. A gateway that starts from the copy has the same "
        + "identity: stop the other one first. Clients then read their lists anew.",
      "To start from a copy: vicinity serve --keys COPY --folder COPY/gateway",
    ],
    examples: [.init(line: "vicinity backup ~/vicinity-monday", says: "a copy")])

  private static let config = OptionSyntax(
    name: "config", value: .file("FILE"), summary: "a file of 'name = value' lines", isInEnvironment: true)

  private static let web: [OptionSyntax] = [
    .init(
      name: "host-name", value: .form(.hostName),
      summary: "a host name that clients may use (Host header), besides the addresses",
      isRepeatable: true),
    .init(
      name: "origin", value: .form(.origin), summary: "allowed origins (CORS), such as https://stage.example",
      isRepeatable: true),
    .init(
      name: "certificate", value: .file("FILE"),
      summary: "TLS certificate chain for HTTPS, PEM; needs --key (issued by the gateway's own CA)"),
    .init(name: "key", value: .file("FILE"), summary: "private key of --certificate, PEM without a password"),
    .init(
      name: "https-only", value: .none,
      summary: "redirect HTTP to HTTPS (308), except requests from this machine"),
    .init(
      name: "trusted-proxy", value: .form(.addresses),
      summary: "reverse proxies whose Forwarded and X-Forwarded-For, -Proto, -Host headers are trusted",
      isRepeatable: true),
    .init(
      name: "base-path", value: .form(.basePath),
      summary: "the path below which clients find it, such as /vicinity, if a reverse proxy serves other paths too"),
    .init(
      name: "metrics-from", value: .form(.addresses),
      summary: "networks that may read /metrics without a token, such as 10.0.0.0/8, besides this machine",
      isRepeatable: true),
    .init(
      name: "away-after", value: .duration,
      summary: "how long a client may be absent before its peers are shown as away", defaultValue: "60"),
    .init(name: "site", value: .folder("FOLDER"), summary: "a folder with another dashboard than the installed one"),
    .init(name: "no-dashboard", value: .none, summary: "serve the API only, without pages"),
    .init(name: "show-code", value: .none, summary: "print the pairing code even without a terminal"),
    .init(
      name: "code-role", value: .choice(["viewer", "member", "operator", "admin"]),
      summary: "the role that this code gives",
      defaultValue: "operator"),
    .init(name: "code-life", value: .duration, summary: "lifetime of pairing codes", defaultValue: "10m"),
    .init(name: "open", value: .none, summary: "open the dashboard in this user's browser, with a code of its own"),
  ]

  private static let running: [OptionSyntax] = [
    .init(
      name: "drain-time", value: .duration,
      summary: "graceful shutdown: how long requests, streams and files in progress may take", defaultValue: "10"),
    .init(
      name: "scrub-time", value: .duration,
      summary: "time over which a check of all stored files and rows is spread; 0 for none",
      defaultValue: "1d"),
    .init(
      name: "log", value: .choice(["text", "json"]), summary: "log format on standard error",
      defaultValue: "text"),
    .init(
      name: "log-level", value: .choice(LogRecord.Level.allCases.map(\.rawValue)),
      summary: "lowest level that is logged (info; warning on a terminal)"),
  ]

  private static let limits = GatewayLimits.all.map { limit in
    OptionSyntax(
      name: limit.option, value: .number("N", limit.range), summary: limit.summary,
      defaultValue: String(GatewayLimits()[limit]))
  }

  private static let place: [OptionSyntax] = [
    .init(
      name: "folder", value: .folder("FOLDER"),
      summary: "folder of the gateway's data, and of files in transfer (beside the keys)"),
    .init(
      name: "keys", value: .folder("FOLDER|ephemeral"),
      summary: "folder of the gateway's private keys; 'ephemeral': not stored (the user's data folder)", group: .host),
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
        summary: "an address of this machine to listen on, optionally with a port (all addresses)",
        group: .host, isRepeatable: true)
    ]
}
