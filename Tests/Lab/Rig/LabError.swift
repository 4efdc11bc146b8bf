/// An error of the laboratory, in a sentence.
struct LabError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
