internal import Engine
internal import Media

/// The source of a resource's bytes.
public enum ResourceSource: Hashable, Sendable {
  /// A file of this machine, by its path.
  case file(String)
  /// The content of an http or https URL: this host fetches it, at the receiver's pace.
  case web(String)
  case bytes([UInt8])
}

extension ResourceSource {
  /// The content of a URL: a file of this machine (`file:///PATH`), or a resource of the web. A program that takes URLs
  /// from strangers takes them as `web` alone.
  public static func url(_ text: String) throws(NearbyError) -> ResourceSource {
    do {
      if let path = try FileURL.path(of: text) { return .file(path) }
      _ = try WebURL(text)
      return .web(text)
    } catch {
      throw NearbyError(error)
    }
  }

  /// Opens it for reading, with its own description.
  func open(_ loop: Loop) async throws(NearbyError) -> OpenSource {
    switch self {
    case .file(let path):
      let disk = try await loop.run { $0.disk }
      do {
        return try await disk.open(path)
      } catch {
        throw NearbyError(wrapping: error)
      }
    case .web(let address):
      let head = try await loop.run { try $0.fetch(address) }
      return try await head.value.get()
    case .bytes(let bytes):
      return OpenSource(.bytes(bytes), name: "bytes", size: UInt64(bytes.count))
    }
  }
}

struct OpenSource: Sendable {
  enum Content: Sendable {
    case file(SourceFile)
    case web(WebSource)
    case bytes([UInt8])

    var file: SourceFile? { if case .file(let file) = self { file } else { nil } }
  }

  let content: Content
  let name: String
  /// A media type, where the source knows.
  let type: String?
  let size: UInt64?

  init(_ content: Content, name: String, type: String? = nil, size: UInt64?) {
    self.content = content
    self.name = name
    self.type = type
    self.size = size
  }
}
