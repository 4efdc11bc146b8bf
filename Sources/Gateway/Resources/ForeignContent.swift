internal import Web

/// Content from others in a form for browsers: never as anything that they would run.
struct ForeignContent {
  /// Its own type where a browser shows that without running anything in it, else one that is only saved.
  let type: String
  let headers: [Problem.Field]

  private static let shown: Set<String> = [
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg", "audio/ogg", "audio/wav",
    "audio/mp4", "video/mp4", "video/webm", "text/plain",
  ]

  init(_ type: String, named name: String) {
    let essence = MediaRange.essence(type)
    let isShown = Self.shown.contains(essence)
    self.type = isShown ? essence : "application/octet-stream"
    headers = [
      .init(
        name: "Content-Disposition",
        value: "\(isShown ? "inline" : "attachment"); filename*=UTF-8''\(Percent.encode(name))"),
      .init(name: "Content-Security-Policy", value: "default-src 'none'; sandbox"),
      .init(name: "Cross-Origin-Resource-Policy", value: "same-origin"),
      .init(name: "Cache-Control", value: "private, no-cache"),
    ]
  }
}
