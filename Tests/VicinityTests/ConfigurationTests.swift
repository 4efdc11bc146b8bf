import FoundationEssentials
import Gateway
import Notation
import TestKit
import Testing

@testable import vicinity

/// The options of an operator: on the command line, in the environment and in a file.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct ConfigurationTests {
  private func parse(
    _ line: String, _ file: String? = nil, at path: String = "/etc/vicinity/vicinity.conf",
    environment: [String: String] = [:]
  ) throws -> Invocation {
    let optionSources = OptionSources(variables: environment) { asked in
      asked == path ? file.map { .success($0) } : nil
    }
    guard
      case .invocation(let invocation) = try Parser(.vicinity, in: optionSources).parse(
        line.split(separator: " ").map(String.init))
    else { throw UsageError("help or version") }
    return invocation
  }

  private func mistake(_ line: String, _ file: String? = nil, environment: [String: String] = [:]) -> String {
    do {
      _ = try parse(line, file, environment: environment)
      return "understood"
    } catch {
      return "\(error)"
    }
  }

  @Test("Every option of 'serve' has the same name on the line, in the environment and in a file, and no value is lost")
  func everywhere() throws {
    let values: [String: String] = [
      "discovery": "static", "at": "10.0.0.5:7777", "keys": "ephemeral", "folder": "/var/lib/vicinity",
    ]
    let serve = try #require(Syntax.vicinity.command("serve"))
    for option in serve.options where option.isInFile {
      let value = values[option.name] ?? Self.example(of: option)
      let isFlag = option.placeholder == nil
      let line = try parse(isFlag ? "serve --\(option.name)" : "serve --\(option.name)=\(value)")
      let environment = try parse("serve", environment: [option.variable: value])
      let file = try parse("serve", "\(option.name) = \(value)\n")
      #expect(line.options == environment.options && line.options == file.options, "\(option.name)")
      #expect(line.sources == [option.name: .commandLine])
      #expect(environment.sources == [option.name: .environment(option.variable)])
      #expect(file.sources == [option.name: .file("/etc/vicinity/vicinity.conf", line: 1)])
    }
    #expect(Set(serve.options.filter { !$0.isInFile }.map(\.name)) == ["config", "show-config"])
  }

  private static func example(of option: OptionSyntax) -> String {
    switch option.value {
    case .none: "true"
    case .number(_, let range): "\(range.lowerBound)"
    case .duration: "7s"
    case .choice(let choices): choices[choices.count - 1]
    case .address: "10.0.0.5:7777"
    case .text, .file, .folder: "something"
    case .pair: "a=b"
    case .medium: "lan"
    case .form(.hostName): "stage.example"
    case .form(.origin): "https://stage.example:8443"
    case .form(.addresses): "10.0.0.0/8"
    case .form(.listenAddress): "10.0.0.5"
    case .form(.basePath): "/vicinity"
    }
  }

  @Test("The line goes before the environment, that before the file, and that before what holds by default")
  func precedence() throws {
    let file = "# the stage\n\nport = 1\n  name =  The Stage = 7 \r\nhost-name = a\nhost-name = b\nshow-code = true\n"
    let environment = ["VICINITY_PORT": "2", "VICINITY_SHOW_CODE": "false"]
    #expect(try parse("serve --port 3", file, environment: environment).number("port") == 3)
    let two = try parse("serve", file, environment: environment)
    #expect(two.number("port") == 2 && !two.has("show-code") && two.text("name") == "The Stage = 7")
    #expect(two.sources["show-code"] == .environment("VICINITY_SHOW_CODE"))
    let one = try parse("serve", file)
    #expect(one.number("port") == 1 && one.has("show-code") && one.texts("host-name") == ["a", "b"])
    #expect(one.sources["host-name"] == .file("/etc/vicinity/vicinity.conf", line: 6))
    #expect(try parse("serve", file, environment: ["VICINITY_HOST_NAME": "c d"]).texts("host-name") == ["c", "d"])
    #expect(try parse("serve").number("port") == 7_777)
  }

  @Test("The file that is named is read; otherwise the user's, and where there is none, the machine's")
  func places() throws {
    let file = "port = 1"
    #expect(try parse("serve", file, at: "/x/a.conf").number("port") == 7_777)
    #expect(try parse("serve --config /x/a.conf", file, at: "/x/a.conf").number("port") == 1)
    #expect(
      try parse("serve", file, at: "/x/a.conf", environment: ["VICINITY_CONFIG": "/x/a.conf"]).number("port") == 1)
    #expect(
      try parse("serve", file, at: "/h/.config/vicinity/vicinity.conf", environment: ["HOME": "/h"]).number("port") == 1
    )
    #expect(
      try parse("serve", file, at: "/c/vicinity/vicinity.conf", environment: ["HOME": "/h", "XDG_CONFIG_HOME": "/c"])
        .number("port") == 1)
    #expect(mistake("serve --config /x/none.conf").contains("There is no file /x/none.conf"))
  }

  @Test("Commands that ask a gateway take the place from the gateway's file, and nothing else")
  func others() throws {
    let pair = try parse("pair", "folder = /f\njson = true\nport = 1\n")
    #expect(pair.text("folder") == "/f" && !pair.has("json") && pair.options.count == 1)
    #expect(try parse("browse chat", "nonsense").number("port") == nil)
  }

  @Test(
    "An invalid value in a file or the environment is refused with its place",
    arguments: [
      ("port = 1\nprot = 80", "/etc/vicinity/vicinity.conf:2: Nobody knows 'prot'. Did you mean 'port'?"),
      ("\nport", "/etc/vicinity/vicinity.conf:2: 'port' says nothing: a line is 'name = value'"),
      ("port = 1\n# two\nport = 2", "/etc/vicinity/vicinity.conf:3: 'port' stands in line 1 already."),
      ("port = 70000", "/etc/vicinity/vicinity.conf:1: port takes a whole number from 0 to 65535, not '70000'."),
      ("show-code = maybe", "/etc/vicinity/vicinity.conf:1: show-code takes true or false, not 'maybe'."),
      (
        "host-name = a:1",
        "/etc/vicinity/vicinity.conf:1: host-name takes a name without a port, such as gateway.example"
      ),
      ("origin = stage", "/etc/vicinity/vicinity.conf:1: origin takes an origin as browsers say it, without a path"),
      ("origin = https://a.example/", "/etc/vicinity/vicinity.conf:1: origin takes an origin as browsers say it"),
      ("metrics-from = 10.0.0.0/33", "/etc/vicinity/vicinity.conf:1: metrics-from takes an address or a range of them"),
      ("config = x", "/etc/vicinity/vicinity.conf:1: Nobody knows 'config'."),
      ("accept = true", "/etc/vicinity/vicinity.conf:1: Nobody knows 'accept'."),
      ("name =", "/etc/vicinity/vicinity.conf:1: name needs a value that is not empty."),
    ])
  func mistakes(_ file: String, _ sentence: String) {
    #expect(mistake("serve", file).contains(sentence), "\(mistake("serve", file))")
  }

  @Test("A variable that nobody knows is a mistake, and not silence")
  func variables() {
    #expect(
      mistake("serve", environment: ["VICINITY_PROT": "80"]).contains(
        "Nobody knows VICINITY_PROT in the environment. Did you mean 'VICINITY_PORT'?"))
    #expect(mistake("serve", environment: ["VICINITY_PORT": "x"]).contains("VICINITY_PORT in the environment takes"))
    #expect(mistake("browse chat", environment: ["VICINITY_PROT": "80"]) == "understood")
  }

  @Test("The file that comes along is understood, and so is what it leaves out")
  func packaged() throws {
    let path = #filePath.replacing("Tests/VicinityTests/ConfigurationTests.swift", with: "packaging/vicinity.conf")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let whole = text.replacing(#/# (?=[a-z-]+ = )/#, with: "")
    #expect(try parse("serve", text).text("folder") == "/var/lib/vicinity/gateway")
    let settings = whole.split(separator: "\n").count { $0.contains(#/^[a-z-]+ = /#) }
    #expect(try parse("serve", whole).options.count == settings && settings > 12)
  }

  @Test("'serve --show-config' tells each value and who said so, and starts nothing")
  func shown() throws {
    let folder = TemporaryFolder()
    let file = try folder.write(Array("port = 8080\nhost-name = box\nhost-name = stage\n".utf8), to: "a.conf")
    let environment = ["VICINITY_NAME": "Stage", "VICINITY_CONFIG": file]
    let told = try Program.run("serve", "--show-config", "--show-code", environment: environment)
    #expect(told.code == 0 && told.err.isEmpty, "\(told)")
    let rows = told.out.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
    func row(_ name: String) -> String? { rows.first { $0.first == name[...] }?.joined(separator: " ") }
    #expect(row("port") == "port 8080 \(file):1")
    #expect(row("host-name") == "host-name box stage \(file):3")
    #expect(row("name") == "name Stage VICINITY_NAME")
    #expect(row("show-code") == "show-code true the command line")
    #expect(row("json") == "json false default")
    let json = try Program.run("serve", "--show-config", "--json", environment: environment)
    let settings = try json.out.split(separator: "\n").map { try JSON(parsing: String($0)) }
    #expect(settings.contains { $0["name"] == "host-name" && $0["values"] == ["box", "stage"] })
    #expect(settings.allSatisfy { $0["event"] == "setting" })
    let wrong = try Program.run("serve", "--config", file, environment: ["VICINITY_PROT": "1"])
    #expect(wrong.code == 2 && wrong.err.contains("VICINITY_PROT"))
  }
}
