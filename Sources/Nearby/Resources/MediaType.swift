/// Media types by file name extension: those that a browser shows by itself, and common ones.
enum MediaType {
  static func guess(from name: String) -> String {
    guard let dot = name.lastIndex(of: ".") else { return unknown }
    return byEnding[name[name.index(after: dot)...].lowercased()] ?? unknown
  }

  private static let unknown = "application/octet-stream"

  private static let byEnding = [
    "txt": "text/plain", "md": "text/markdown", "html": "text/html", "htm": "text/html", "css": "text/css",
    "csv": "text/csv", "json": "application/json", "xml": "application/xml", "pdf": "application/pdf",
    "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar", "jpg": "image/jpeg",
    "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml",
    "heic": "image/heic", "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "wav": "audio/wav",
    "flac": "audio/flac", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mkv": "video/x-matroska",
  ]
}
