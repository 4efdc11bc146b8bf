import Testing

@Suite("Arrows between targets")
struct ArrowRulesTests {
  private static let imports = ArrowRules.imports(of: Repository.swiftFiles)

  @Test("Wire and Engine import nothing but each other, downwards")
  func purity() {
    expectNone(ArrowRules.purity(Self.imports))
  }

  @Test("Arrows point down, and what is declared is what is imported")
  func arrows() throws {
    let manifest = Manifest(try #require(Repository.file("Package.swift")))
    expectNone(ArrowRules.declarations(manifest, Self.imports) + ArrowRules.arrows(manifest, Self.imports))
  }

  @Test("A system module is imported in one target")
  func systemModules() {
    expectNone(ArrowRules.systemModules(Self.imports))
  }

  @Test("An import of the core is found, whatever stands before it")
  func findsImpureImports() {
    let imports = ArrowRules.imports(of: [
      SourceFile(path: "Sources/Wire/Frame.swift", text: "// import Glibc\npublic import Foundation\n"),
      SourceFile(
        path: "Sources/Engine/Engine.swift", text: "public import Wire\nimport struct Dispatch.DispatchTime\n"),
    ])
    #expect(imports.map(\.module) == ["Foundation", "Wire", "Dispatch"])
    #expect(
      ArrowRules.purity(imports).map(\.description).map { $0.prefix { $0 != " " } } == [
        "Sources/Wire/Frame.swift:2:", "Sources/Engine/Engine.swift:2:",
      ])
  }

  @Test("An arrow that points up, an undeclared one, an idle one and a homeless target are found")
  func findsBadArrows() {
    let manifest = Manifest(
      SourceFile(
        path: "Package.swift",
        text: """
          let package = Package(
            targets: [
              .target(name: "Wire", dependencies: ["Engine"]),
              .target(name: "Engine", dependencies: ["Wire"]),
              .target(name: "Cellar", dependencies: [
                "Wire"
              ]),
              .testTarget(name: "WireTests", dependencies: ["Wire"]),
          """))
    #expect(manifest.targets.map(\.name) == ["Wire", "Engine", "Cellar", "WireTests"])
    #expect(manifest.targets.map(\.line) == [2, 3, 4, 7])
    let imports = ArrowRules.imports(of: [
      SourceFile(path: "Sources/Wire/Frame.swift", text: "import Engine\n"),
      SourceFile(path: "Sources/Cellar/Cellar.swift", text: "import Wire\nimport Engine\n"),
      SourceFile(path: "Tests/WireTests/FrameTests.swift", text: "@testable import Wire\nimport Testing\n"),
    ])
    let sentences = (ArrowRules.declarations(manifest, imports) + ArrowRules.arrows(manifest, imports)).map(\.sentence)
    #expect(
      sentences == [
        "Wire depends on Engine, which does not stand below it.",
        "Engine depends on Wire and never imports it.",
        "Cellar has no place in ArrowRules.layers: give it one.",
        "Cellar depends on Wire, which does not stand below it.",
        "Wire imports Engine, which does not stand below it.",
        "Cellar imports Wire, which does not stand below it.",
        "Cellar imports Engine without declaring it in Package.swift.",
        "Cellar imports Engine, which does not stand below it.",
      ])
  }

  @Test("A target above a library that reaches past it is found")
  func findsArrowsPastALibrary() {
    let manifest = Manifest(
      SourceFile(
        path: "Package.swift",
        text: """
          let package = Package(
            targets: [
              .target(name: "Wire"),
              .target(name: "Nearby", dependencies: ["Wire"]),
              .target(name: "Gateway", dependencies: ["Nearby", "Wire"]),
          """))
    let imports = ArrowRules.imports(of: [
      SourceFile(path: "Sources/Nearby/Host.swift", text: "internal import Wire\n"),
      SourceFile(path: "Sources/Gateway/Server/Core.swift", text: "internal import Nearby\ninternal import Wire\n"),
    ])
    let sentences = (ArrowRules.declarations(manifest, imports) + ArrowRules.arrows(manifest, imports)).map(\.sentence)
    #expect(
      sentences == [
        "Gateway depends on Wire, which it reaches through Nearby alone.",
        "Gateway imports Wire, which it reaches through Nearby alone.",
      ])
  }

  @Test("A system module in a second target is found")
  func findsSharedSystemModules() {
    let imports = ArrowRules.imports(of: [
      SourceFile(path: "Sources/Media/Link.swift", text: "import COpenSSL\n"),
      SourceFile(path: "Sources/Media/Pipe.swift", text: "import COpenSSL\n"),
      SourceFile(path: "Sources/Nearby/Keys.swift", text: "internal import COpenSSL\n"),
      SourceFile(path: "Tests/NearbyTests/KeysTests.swift", text: "import COpenSSL\n"),
    ])
    #expect(ArrowRules.systemModules(imports).map(\.path) == ["Sources/Nearby/Keys.swift"])
  }
}
