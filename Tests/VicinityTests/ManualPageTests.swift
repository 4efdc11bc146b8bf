import Testing

@testable import vicinity

@Suite(.ownThread) struct ManualPageTests {
  private let pages = ManualPage(syntax: .vicinity)

  /// A page as `man` shows it, but for its lines.
  private func plain(_ page: String) -> String {
    let signs = [
      ("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\(ga", "`"), ("\\(ti", "~"), ("\\fB", ""), ("\\fR", ""),
      ("\\&", ""), ("\\e", "\\"),
    ]
    return signs.reduce(page) { text, sign in text.replacing(sign.0, with: sign.1) }
  }

  @Test func `Each command, argument, option and example stands in a manual page, as it is typed`() {
    let whole = plain(pages.text(of: nil))
    for command in Syntax.vicinity.commands {
      #expect(whole.contains("\n\(ManualPage.name(of: command))(1)\n\(command.summary)\n"))
      let page = plain(pages.text(of: command))
      #expect(page.contains("\n\(ManualPage.name(of: command)) - \(command.summary)\n"))
      for argument in command.arguments { #expect(page.contains(argument.placeholder.replacing("…", with: "..."))) }
      for option in command.options {
        #expect(page.contains("\n\(option.usage.replacing("…", with: "..."))\n"), "\(command.name) \(option.name)")
      }
      for example in command.examples { #expect(page.contains("\n\(example.line)\n"), "\(example.line)") }
    }
  }

  @Test func `Text is never taken for a request of roff`() {
    for command in Syntax.vicinity.commands.map(Optional.some) + [nil] {
      for line in pages.text(of: command).split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
        #expect([".TH", ".SH", ".TP", ".PP"].contains(line.prefix(3)), "\(line)")
      }
    }
  }

  @Test func `The program prints the page`() throws {
    #expect(try Program.run("help", "--man").out == pages.text(of: nil))
    #expect(try Program.run("help", "send", "--man").out == pages.text(of: Syntax.vicinity.command("send")))
    #expect(try Program.run("help", "sned", "--man").code == ExitCode.usage.rawValue)
  }
}
