@testable import lab_rig

/// A folder that all hosts of a rig share, as a medium beside the network.
extension Rig {
  private static let meetingFolder = "\(LabHost.shared)/meet"
  static let folderMedium = "folder:\(meetingFolder)"
  static let twoMedia = ["--medium", "lan", "--medium", folderMedium]

  func makeMeetingFolder() async throws { try await hosts[0].run("mkdir", "-m", "700", Self.meetingFolder) }

  /// Puts the folder where hosts look for it, or takes it away.
  func setMeetingFolder(_ isThere: Bool) async throws {
    let places = [Self.meetingFolder, "\(LabHost.shared)/away"]
    try await hosts[0].run(["mv"] + (isThere ? places.reversed() : places))
  }

  /// Two in ad hoc mode who are connected over the folder, with the network on standby.
  func meetByTwoMedia(_ type: String) async throws -> (VicinityPeer, VicinityPeer) {
    try await makeMeetingFolder()
    let a = try await hosts[0].visit("adhoc", type, Self.twoMedia)
    try await hosts[1].run("mkdir", "\(LabHost.home)/in")
    let b = try await hosts[1].visit("adhoc", type, Self.twoMedia + ["--to-folder", "\(LabHost.home)/in"])
    try await a.meets(b, within: .seconds(10))
    try await b.meets(a, within: .seconds(10))
    // The other link is dialled by now, by the one or the other.
    await Laboratory.pass(.seconds(4))
    return (a, b)
  }
}
