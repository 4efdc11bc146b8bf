/// Arrows between targets point down only, what is declared is what is imported, and the core imports nothing.
enum ArrowRules {
  /// The layers from the lowest up. A target knows those of lower layers only, not its neighbours in its own; the
  /// system modules, whose names are a C and a capital, are below all of them.
  static let layers: [Set<String>] = [
    ["Notation", "Reactor", "Wire"],
    ["BluetoothProtocol", "DBus", "Engine"],
    ["BluetoothServer", "Media", "Simulator", "Store"],
    ["Nearby", "Web", "simulate", "vicinity-bluetooth"],
    ["MultipeerConnectivity"],
    ["Gateway"],
    ["vicinity"],
  ]

  /// Targets that know no clock, random source, file or socket, hence no module but these.
  static let pure: [String: Set<String>] = ["Notation": [], "Wire": [], "Engine": ["Wire"]]

  /// Targets that those of the layers above a library reach through it alone: its interface has the types of theirs
  /// that it uses.
  static let behind: [(library: String, hidden: Set<String>)] = [("Nearby", ["Engine", "Wire"])]

  struct Import {
    let module: String
    let target: String
    let isTest: Bool
    /// A finding at the place of the import.
    let finding: @Sendable (String) -> Finding
  }

  static func imports(of files: [SourceFile]) -> [Import] {
    files.flatMap { file -> [Import] in
      guard let target = file.target else { return [] }
      let lines = file.code.indices.filter { file.code[$0].contains("import ") }
      return lines.compactMap { line in
        let statement = #/^\s*(?:@\w+(?:\(\w*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?import\s+/#
        guard let match = file.code[line].firstMatch(of: statement) else { return nil }
        let words = file.code[line][match.range.upperBound...].split { $0 == " " || $0 == "." }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        guard let module = words.first(where: { !kinds.contains($0) }) else { return nil }
        return Import(module: String(module), target: target, isTest: file.path.hasPrefix("Tests/")) {
          file.finding(line: line, $0)
        }
      }
    }
  }

  static func purity(_ imports: [Import]) -> [Finding] {
    imports.compactMap { one in
      guard let allowed = pure[one.target], !allowed.contains(one.module) else { return nil }
      return one.finding("\(one.target) is pure and does not import \(one.module): what it needs comes in as a value.")
    }
  }

  /// The dependencies that the manifest declares point down, and are used.
  static func declarations(_ manifest: Manifest, _ imports: [Import]) -> [Finding] {
    let programs = manifest.targets.filter { $0.kind == "executableTarget" }.map(\.name)
    return manifest.targets.flatMap { target -> [Finding] in
      func finding(_ sentence: String) -> Finding { manifest.file.finding(line: target.line, sentence) }
      var findings: [Finding] = []
      let isProduct = !target.isTest && !isSystem(target.name)
      if isProduct, layer(of: target.name) == nil {
        findings.append(finding("\(target.name) has no place in ArrowRules.layers: give it one."))
      }
      for dependency in target.dependencies.sorted() {
        if isProduct, let fault = fault(from: target.name, to: dependency) {
          findings.append(finding("\(target.name) depends on \(dependency), which \(fault)."))
        }
        // A test may run a program that it does not import.
        let isRun = target.isTest && programs.contains(dependency)
        if !isRun, !imports.contains(where: { $0.target == target.name && $0.module == dependency }) {
          findings.append(finding("\(target.name) depends on \(dependency) and never imports it."))
        }
      }
      return findings
    }
  }

  /// Imports point down, and are declared.
  static func arrows(_ manifest: Manifest, _ imports: [Import]) -> [Finding] {
    let names = Set(manifest.targets.map(\.name))
    return imports.flatMap { one -> [Finding] in
      guard names.contains(one.module), let target = manifest.targets.first(where: { $0.name == one.target }) else {
        return []
      }
      var findings: [Finding] = []
      if !target.dependencies.contains(one.module) {
        findings.append(one.finding("\(one.target) imports \(one.module) without declaring it in Package.swift."))
      }
      if !target.isTest, let fault = fault(from: one.target, to: one.module) {
        findings.append(one.finding("\(one.target) imports \(one.module), which \(fault)."))
      }
      return findings
    }
  }

  /// A C library has one target that knows it, and wraps it for the others.
  static func systemModules(_ imports: [Import]) -> [Finding] {
    let uses = imports.filter { isSystem($0.module) && !$0.isTest }
    return uses.compactMap { one in
      guard let first = uses.first(where: { $0.module == one.module }), first.target != one.target else { return nil }
      return one.finding("\(one.module) is \(first.target)'s already: a system module is imported in one target.")
    }
  }

  private static func isSystem(_ name: String) -> Bool {
    name.hasPrefix("C") && name.dropFirst().first?.isUppercase == true
  }

  private static func layer(of name: String) -> Int? {
    isSystem(name) ? -1 : layers.firstIndex { $0.contains(name) }
  }

  /// The fault of an arrow; nil for a good one.
  private static func fault(from upper: String, to lower: String) -> String? {
    guard let above = layer(of: upper), let below = layer(of: lower), below < above else {
      return "does not stand below it"
    }
    for (library, hidden) in behind where hidden.contains(lower) {
      if let place = layer(of: library), place < above { return "it reaches through \(library) alone" }
    }
    return nil
  }
}
