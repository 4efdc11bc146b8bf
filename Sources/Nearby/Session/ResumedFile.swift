internal import Engine
internal import Wire

/// A file that a session continues to send to a member since before its host was started again.
struct ResumedFile: Sendable {
  let path: String
  let member: EndpointID
}

extension Session {
  /// Whether it continues to send the file to the member with this endpoint.
  package func resumes(_ path: String, to member: String) -> Bool {
    resumed.contains { $0.path == path && $0.member.text == member }
  }
}
