internal import Glibc

/// The terminal or pipes of the program, with width and colour support.
struct Terminal: Sendable {
  var isInputTerminal: Bool
  var isOutputTerminal: Bool
  var isErrorTerminal: Bool
  /// Whether the terminal supports no escape sequences.
  var isDumb: Bool
  var isUnicode: Bool
  /// Whether colours are wanted where there is a terminal.
  var wantsColour: Bool
  /// Whether standard input can have any content.
  var hasInput: Bool

  static func current(wantsColour: Bool) -> Terminal {
    let kind = environment("TERM")
    return Terminal(
      isInputTerminal: isatty(STDIN_FILENO) == 1, isOutputTerminal: isatty(STDOUT_FILENO) == 1,
      isErrorTerminal: isatty(STDERR_FILENO) == 1, isDumb: kind == nil || kind == "dumb",
      isUnicode: hasUnicode(), wantsColour: wantsColour && environment("NO_COLOR") == nil, hasInput: hasSource())
  }

  /// Whether lines can be redrawn: the prompt, and progress bars.
  var canDraw: Bool { isErrorTerminal && !isDumb }

  /// Whether a QR code of so many columns can be shown on standard output.
  func canShow(columns: Int) -> Bool { isOutputTerminal && isUnicode && !isDumb && self.columns() >= columns }

  func paint(_ output: StandardStream) -> Paint {
    Paint(isOn: wantsColour && !isDumb && (output == .out ? isOutputTerminal : isErrorTerminal))
  }

  /// The width of the window; 80 without a window and without `COLUMNS`.
  func columns(_ output: StandardStream = .out) -> Int {
    var size = winsize()
    if ioctl(output.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col >= 20 { return min(Int(size.ws_col), 1_000) }
    return Self.environment("COLUMNS").flatMap { Int($0) }.flatMap { (20...1_000).contains($0) ? $0 : nil } ?? 80
  }

  /// The value of an environment variable that is set and not empty.
  static func environment(_ name: String) -> String? {
    guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
    return value
  }

  /// The whole environment, as it was when the program began.
  static var environment: [String: String] {
    guard let file = fopen("/proc/self/environ", "re") else { return [:] }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece.prefix(count) }
    var variables: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1)
      if parts.count == 2 {
        variables[String(decoding: parts[0], as: UTF8.self)] = String(decoding: parts[1], as: UTF8.self)
      }
    }
    return variables
  }

  private static func hasUnicode() -> Bool {
    let locale = environment("LC_ALL") ?? environment("LC_CTYPE") ?? environment("LANG") ?? ""
    return locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
  }

  /// Whether standard input has a source. Without one, the program must not end because no input comes.
  private static func hasSource() -> Bool {
    var status = stat()
    guard fstat(STDIN_FILENO, &status) == 0 else { return false }
    let isDevice = status.st_mode & S_IFMT == S_IFCHR
    return !isDevice || isatty(STDIN_FILENO) == 1
  }
}

/// Colours and weight, or none.
struct Paint: Sendable {
  var isOn: Bool

  enum Role: String, Sendable {
    case strong = "1"
    case faint = "2"
    case good = "32"
    case doubtful = "33"
    case bad = "31"
  }

  func callAsFunction(_ role: Role, _ text: String) -> String { sequence(role.rawValue, text) }

  /// Colours a text by its key: the same key has the same colour each time.
  func named(_ key: some Collection<UInt8>, _ text: String) -> String {
    let colours = [31, 32, 33, 34, 35, 36, 91, 92, 93, 94, 95, 96]
    let sum = key.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    return sequence("\(colours[Int(sum % UInt32(colours.count))])", text)
  }

  /// White on black, whatever the terminal's own colours are.
  func inverted(_ text: String) -> String { sequence("97;40", text) }

  private func sequence(_ code: String, _ text: String) -> String {
    isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
