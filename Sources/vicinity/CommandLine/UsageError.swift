/// A usage error in a command line: the problem, its cause and its remedy.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String
  /// The command whose help says more.
  var command: String?

  init(_ description: String, in command: String? = nil) {
    self.description = description
    self.command = command
  }
}
