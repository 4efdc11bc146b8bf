/// Standard input, line by line; on a terminal with a prompt and line editing.
actor Lines {
  /// Limit for a line; a longer one is not typed by a person.
  private static let bytesMax = 1 << 20

  private let eventThread: EventThread
  private let screen: Screen
  private let isTyped: Bool
  private var prompt = "> "
  private var bytes: ArraySlice<UInt8> = []
  private var typed: [String] = []
  private var isEditing = false
  private var isAtEnd = false
  private var completer: (@Sendable (String) async -> [String])?

  init(_ eventThread: EventThread, _ screen: Screen, isTyped: Bool) {
    self.eventThread = eventThread
    self.screen = screen
    self.isTyped = isTyped
  }

  /// Sets the completer, whose results the Tab key offers in place of the last word before the cursor.
  func complete(by completer: @escaping @Sendable (String) async -> [String]) { self.completer = completer }

  func prompt(_ prompt: String) async {
    self.prompt = prompt
    if isEditing { await screen.prompt(prompt) }
  }

  /// The next line; nil at the end of the input, and where the task is cancelled.
  func next() async -> String? {
    if isTyped, await beginEditing() { return await nextTyped() }
    while true {
      if let line = takeLine() { return line }
      if isAtEnd { return nil }
      let fresh = await eventThread.read()
      isAtEnd = fresh.isEmpty
      bytes += fresh
    }
  }

  /// A line that is read without echo; nil at the end of the input.
  func secret(_ question: String) async -> String? {
    guard screen.terminal.isInputTerminal, TerminalMode.enter() else { return await next() }
    await screen.print(question, to: .error)
    var editor = LineEditor()
    while true {
      let fresh = await eventThread.asking { await eventThread.read() }
      if fresh.isEmpty { return nil }
      for act in editor.feed(fresh) {
        TerminalMode.end()
        if case .line(let line) = act { return line }
        return nil
      }
    }
  }

  private func takeLine() -> String? {
    if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
      defer { bytes = bytes[(end + 1)...] }
      var line = bytes[..<end]
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      return String(decoding: line, as: UTF8.self)
    }
    guard bytes.count > Self.bytesMax || isAtEnd && !bytes.isEmpty else { return nil }
    defer { bytes = [] }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: Line editing

  private func beginEditing() async -> Bool {
    if isEditing { return true }
    guard TerminalMode.enter() else { return false }
    isEditing = true
    await screen.beginEditing(prompt)
    return true
  }

  private func nextTyped() async -> String? {
    while true {
      if !typed.isEmpty { return typed.removeFirst() }
      if isAtEnd { return nil }
      let fresh = await eventThread.read()
      if fresh.isEmpty { isAtEnd = true }
      for act in await screen.type(fresh) {
        switch act {
        case .line(let line): typed.append(line)
        case .end: isAtEnd = true
        case .complete: await complete()
        }
      }
    }
  }

  private func complete() async {
    let head = await screen.head
    guard let completer else { return }
    let word = head.split(separator: " ", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    let choices = await completer(head).filter { $0.hasPrefix(word) }
    guard var shared = choices.first else { return }
    for choice in choices.dropFirst() { shared = String(zip(shared, choice).prefix { $0 == $1 }.map(\.0)) }
    if choices.count == 1, shared.last != "/" { shared += " " }
    if shared.count > word.count { return await screen.insert(String(shared.dropFirst(word.count))) }
    await screen.print(choices.map { "  " + PlainText.line($0) }, to: .error)
  }
}
