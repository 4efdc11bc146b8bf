internal import Glibc

/// The screen, through which all output goes. On a terminal, a footer with progress bars and the line being edited
/// stays below the printed lines.
actor Screen {
  nonisolated let terminal: Terminal
  private var bars: [(number: Int, bar: ProgressBar)] = []
  private var panel: [String] = []
  private var prompt = ""
  private var editor: LineEditor?
  /// The number of footer lines that are drawn; the cursor is in the last.
  private var drawn = 0
  private var brokenBy: CInt?

  init(_ terminal: Terminal) {
    self.terminal = terminal
  }

  /// Whether standard output still has a reader.
  var hasReader: Bool { brokenBy == nil }

  /// The reason why standard output is incomplete; nil where it is complete, and where its reader has closed it.
  var outputFault: String? {
    guard let brokenBy, brokenBy != EPIPE else { return nil }
    return "Standard output cannot be written: \(String(cString: strerror(brokenBy)))."
  }

  // MARK: Printing

  func print(_ lines: [String], to output: StandardStream = .out) {
    if lines.isEmpty { return }
    let shares = output == .error || terminal.isOutputTerminal
    if shares { erase() }
    if !output.write(lines.map { $0 + "\n" }.joined()), output == .out { brokenBy = brokenBy ?? errno }
    if shares { draw() }
  }

  func print(_ line: String, to output: StandardStream = .out) { print([line], to: output) }

  /// Writes raw bytes.
  func write(_ bytes: [UInt8]) {
    if !StandardStream.out.write(bytes) { brokenBy = brokenBy ?? errno }
  }

  // MARK: Progress

  func show(_ bar: ProgressBar, _ number: Int) {
    if let place = bars.firstIndex(where: { $0.number == number }) {
      bars[place].bar = bar
    } else {
      bars.append((number, bar))
    }
    redraw()
  }

  func hide(_ number: Int) {
    bars.removeAll { $0.number == number }
    redraw()
  }

  /// Sets the lines of a panel above the progress bars; they are no wider than the window.
  func panel(_ lines: [String]) {
    if lines == panel { return }
    panel = lines
    redraw()
  }

  // MARK: Editing

  /// Shows a line editor, until `endEditing`.
  func beginEditing(_ prompt: String) {
    self.prompt = prompt
    editor = LineEditor()
    redraw()
  }

  func prompt(_ prompt: String) {
    self.prompt = prompt
    redraw()
  }

  func type(_ bytes: [UInt8]) -> [LineEditor.Action] {
    defer { redraw() }
    return editor?.feed(bytes) ?? []
  }

  /// The text before the cursor.
  var head: String { editor?.head ?? "" }

  func insert(_ text: String) {
    editor?.insert(text)
    redraw()
  }

  func endEditing() {
    editor = nil
    redraw()
  }

  /// Removes the footer from the terminal.
  func end() {
    editor = nil
    bars = []
    panel = []
    redraw()
  }

  // MARK: Drawing

  func redraw() {
    erase()
    draw()
  }

  private func erase() {
    guard drawn > 0 else { return }
    let up = drawn > 1 ? "\u{1B}[\(drawn - 1)A" : ""
    StandardStream.error.write("\r\(up)\u{1B}[J")
    drawn = 0
  }

  private func draw() {
    guard terminal.canDraw, editor != nil || !bars.isEmpty || !panel.isEmpty else { return }
    // The last column stays free: on some terminals a cursor there moves to the next line.
    let columns = terminal.columns(.error) - 1
    var lines =
      panel
      + bars.suffix(Self.barsMax).map { _, bar in
        var bar = bar
        bar.isUnicode = terminal.isUnicode
        return bar.line(columns: columns)
      }
    var column = 0
    if let editor {
      let prompt = prompt.fitted(to: columns / 2)
      let (text, place) = editor.shown(columns: columns - DisplayWidth.of(prompt))
      lines.append(prompt + text)
      column = DisplayWidth.of(prompt) + place
    }
    let cursor = editor == nil ? "" : column == 0 ? "\r" : "\r\u{1B}[\(column)C"
    StandardStream.error.write(lines.joined(separator: "\n") + cursor)
    drawn = lines.count
  }

  /// Limit for progress bars; more at once would fill the window.
  private static let barsMax = 5
}
