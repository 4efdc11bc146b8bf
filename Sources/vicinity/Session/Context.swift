internal import Glibc
internal import Nearby

/// The input of every command: its invocation, and the program's input and output.
struct Context: Sendable {
  let invocation: Invocation
  let screen: Screen
  let eventThread: EventThread
  let lines: Lines
  var printer: EventPrinter
  /// The name that was entered at the first start.
  var chosenName: String?

  var terminal: Terminal { screen.terminal }

  func hostOptions() throws(UsageError) -> HostOptions {
    var options = HostOptions()
    options.keys = keys
    options.store = store
    options.port = UInt16(invocation.number("port") ?? 0)
    options.pollsBusily = invocation.text("busy-poll") != "off"
    let media = invocation.texts("medium").compactMap { HostMedium($0) }.map(FileSystem.expanded)
    if !media.isEmpty { options.media = media == [.relay] ? [.lan, .relay] : media }
    if !options.media.contains(.lan),
      let other = ["at", "discovery", "port"].first(where: { invocation.sources[$0] == .commandLine }),
      invocation.command.name != "serve"
    {
      throw UsageError("--\(other) is of the local network: add --medium lan, or leave it out.")
    }
    options.relay.audience = invocation.text("relay-for").flatMap(RelayAudience.init)
    if let count = invocation.number("relay-links") { options.relay.circuitsMax = count }
    options.relay.bytesPerSecondMax = invocation.number("relay-rate").map { $0 * 1_000 }
    let addresses = invocation.texts("at")
    let discovery = invocation.text("discovery") ?? (addresses.isEmpty ? "avahi" : "static")
    if discovery != "static", !addresses.isEmpty {
      throw UsageError("--at goes with --discovery static, not with \(discovery); leave one of the two out.")
    }
    // The URLs to fetch come from a user of this machine.
    options.web.allowsLoopback = true
    options.discovery = discovery == "avahi" ? .avahi : .fixed(addresses)
    return options
  }

  /// Receiving resumes after a crash by default: the store is one file for each service type.
  private var store: HostStorage {
    switch invocation.text("store") {
    case "none": .none
    case let file?: .file(file)
    case nil where invocation.command.name == "receive" && keys != .ephemeral:
      .besideKeys(name: "receive-\(invocation.required("type"))")
    case nil: .none
    }
  }

  var keys: KeyStorage {
    switch invocation.text("keys") {
    case nil: .standard
    case "ephemeral": .ephemeral
    case let folder?: .folder(folder)
    }
  }

  func sessionOptions(_ host: Host) throws(Failure) -> SessionOptions {
    var options = SessionOptions()
    if admission != .any { options.trust = .ask(timeout: .seconds(60)) }
    if let word = invocation.text("identity") {
      let identities = host.identities.filter { $0.certificates.first?.subject.contains(word) == true }
      guard let identity = identities.first else {
        throw Failure(
          .failed, "No security identity has '\(PlainText.brief(word))' in its subject; 'vicinity identity' lists them."
        )
      }
      options.identity = identity
    }
    options.encryption =
      switch invocation.text("encryption") {
      case "required": .required
      case "none": .none
      default: .optional
      }
    if let count = invocation.number("peers-max") { options.peersMax = count }
    return options
  }

  /// The admission rule for members that join.
  enum Admission: String, Sendable {
    case any, known, anchors, ask
  }

  var admission: Admission { invocation.text("trust").flatMap(Admission.init) ?? .any }

  var name: String { invocation.text("name") ?? chosenName ?? NameFile(keys)?.read() ?? NameFile.defaultName }
}
