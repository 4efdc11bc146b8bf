import Testing

@testable import Nearby

/// The names of strangers' files.
@Suite struct TargetFileTests {
  @Test(arguments: [
    ("a.txt", "a.txt"), ("-rf", "_rf"), ("--help", "_-help"), (".-x", "_x"), ("../../-x", "_x"), (" -x", "_x"),
    ("a-b", "a-b"), ("..", "unnamed"), ("\\etc\\passwd", "passwd"), ("a\nb", "a_b"), ("exe.\u{202e}txt", "exe._txt"),
  ])
  func `a name is no path, hides nothing, and is no option of a command`(_ told: String, _ name: String) {
    #expect(TargetFile.safe(told) == name)
  }
}
