import Foundation

/// A child process of this program, for a part of the work.
struct Child {
  private let process = Process()
  private let output = Pipe()

  init(_ arguments: [String]) {
    process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    // A trap is a result here: nobody needs its backtrace.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
  }

  /// Passes each line on as it comes, until the process has ended.
  func lines(_ body: (Substring) -> Void) {
    guard (try? process.run()) != nil else { return }
    var rest = Data()
    while true {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { break }
      rest.append(data)
      while let end = rest.firstIndex(of: 10) {
        body(Substring(String(decoding: rest[rest.startIndex..<end], as: UTF8.self)))
        rest.removeSubrange(rest.startIndex...end)
      }
    }
    process.waitUntilExit()
  }
}
