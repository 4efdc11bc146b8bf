import Testing

@Suite("Swift files")
struct SwiftRulesTests {
  @Test("Tasks are spawned by the reactor, and nothing sleeps")
  func concurrency() {
    expectNone(Repository.swiftFiles.flatMap(ConcurrencyRules.all))
  }

  @Test("Code that the compiler cannot check carries its proof")
  func proofs() {
    expectNone(Repository.swiftFiles.flatMap(ProofRules.all))
  }

  @Test("A bare task is found, one spawned on the reactor's executor is not")
  func findsBareTasks() {
    let text = """
      Task { await run() }
      Task<Void, Never> { }
      Task.detached(priority: .low) { }
      func task() -> Task<Void, Never> {
      Task(executorPreference: loop) { }
      group.addTask { }
      // Task { }
      """
    #expect(lines(ConcurrencyRules.bareTasks, text) == [1, 2, 3, 5])
    #expect(lines(ConcurrencyRules.bareTasks, text, path: "Sources/Reactor/Reactor.swift") == [1, 2, 3])
  }

  @Test("A sleep is found in each of its forms")
  func findsSleeps() {
    let text = """
      try await Task.sleep(for: .seconds(1))
      usleep(5)
      Thread.sleep(forTimeInterval: 1)
      let asleep = sleeper(5)
      print("sleep(1)")
      """
    #expect(lines(ConcurrencyRules.sleeps, text) == [1, 2, 3])
  }

  @Test("A closure for a later turn that does not hold its subject is found")
  func findsUnheld() {
    let text = """
      reactor.soon { [unowned self] in go() }
      deferredActions.append { [weak a, unowned b] in go() }
      reactor.soon { [weak self] in self?.go() }
      timer = reactor.schedule(after: pause) { [unowned self] in go() }
      reactor.spawn { [self] in await go() }
      """
    #expect(lines(ConcurrencyRules.unheld, text) == [1, 2])
  }

  @Test("A forced or unchecked thing without a comment near it is found")
  func findsUnprovedOverrides() {
    let text = """
      let a = b!
      let c = try! d()
      let e = f as! G
      final class H: @unchecked Sendable {}
      nonisolated(unsafe) var i = 0
      if !j, k != l, m! == n { o[p]! += 1 }
      let q = "r! \\(!s) \\(t ? "u!" : v)"
      let w = "x \\(y!)"
      """
    #expect(lines(ProofRules.overrides, text) == [1, 2, 3, 4, 5, 6, 8])
    #expect(lines(ProofRules.overrides, "let a = b!  // Set in init.\n// C is never empty.\nlet d = c.first!\n") == [])
    #expect(lines(ProofRules.overrides, "// Too far away.\n\n\n\nlet a = b!\n") == [5])
  }

  @Test("An optional C struct is found where it is stored")
  func findsOptionalStructs() {
    let text = """
      var original: termios?
      private let last: timespec? = nil
      var process: pid_t?
      var name: String?
      func at(time: timespec?) {}
      """
    #expect(lines(ProofRules.optionalStructs, text) == [1, 2])
  }

  @Test("An unsafe expression is proved near it, in its function, or in the law of its file")
  func findsUnprovedUnsafeExpressions() {
    let function = """
      /// Reads the header.
      func header() -> UInt8 {
        let a = 1

        let b = 2
        let c = 3
        return unsafe bytes[0]
      }
      """
    let safe = function.replacing("the header.", with: "the header. Safe, since there is always one.")
    let inside = function.replacing("let a = 1", with: "let a = 1  // There is always a header.")
    let law = "// Every unsafe read here is bounded by `end`.\n\n" + function
    #expect(lines(ProofRules.unsafeExpressions, function) == [7])
    #expect(lines(ProofRules.unsafeExpressions, safe) == [])
    #expect(lines(ProofRules.unsafeExpressions, law) == [])
    #expect(lines(ProofRules.unsafeExpressions, inside) == [])
    #expect(lines(ProofRules.unsafeExpressions, "let unsafely = withUnsafeBytes { $0 }\n") == [])
  }

  @Test("A proof in one function is no proof for the next")
  func keepsProofsApart() {
    let text = """
      struct A {
        // Safe: one byte is always there.
        func b() -> UInt8 {
          unsafe c[0]
        }

        func d() -> UInt8 {
          let e = 1
          let f = 2
          return unsafe c[e + f]
        }
      }
      """
    #expect(lines(ProofRules.unsafeExpressions, text) == [10])
  }

  @Test("Code, comments and strings are told apart")
  func scans() {
    let text = ##"""
      let a = "// \(b + "c") */" // d "e"
      let f = #"g" \(h) \#(i)"# /* j /* k */ l */ + m
      let n = """
        o "p" // q
        """ + r
      let s = #/"t/# + u
      func `v "w`() {}
      """##
    let file = SourceFile(path: "Sources/Wire/Frame.swift", text: text)
    func letters(_ lines: [String]) -> [String] { lines.map { $0.filter(\.isLetter) } }
    #expect(letters(file.code) == ["letab", "letfim", "letn", "", "r", "letsu", "func"])
    #expect(letters(file.comments) == ["de", "jkl", "", "", "", "", ""])
  }
}

/// The lines on which a rule finds something in a text.
func lines(_ rule: (SourceFile) -> [Finding], _ text: String, path: String = "Sources/Engine/Engine.swift") -> [Int] {
  rule(SourceFile(path: path, text: text)).map(\.line)
}
