/// A command line that cannot be carried out: what, why, what to do.
struct Misuse: Error, Equatable, CustomStringConvertible {
  let description: String
  /// Whose help says more.
  var command: String?

  init(_ description: String, in command: String? = nil) {
    self.description = description
    self.command = command
  }
}
