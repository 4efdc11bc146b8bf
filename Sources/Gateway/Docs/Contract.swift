internal import Notation

/// The gateway's contract, `openapi/vicinity.json`, in the forms in which it is served. `docs/generate` makes it from
/// `openapi/vicinity.yaml`.
///
/// A form is made when it is first requested, and not on the loop: both together take a quarter of the time of a start.
actor Contract {
  private static let bytesMax = 4 << 20

  private let document: JSON
  private let base: BasePath
  private(set) lazy var json = Asset(document.bytes, type: "application/json")
  private(set) lazy var page = Asset(Reference(document, below: base, canTry: canTry).page)
  /// Whether the site has the page on which requests are tried.
  private let canTry: Bool

  init(at path: String, below base: BasePath, canTry: Bool) throws(Problem) {
    guard let bytes = Folder.read(path, atMost: Self.bytesMax) else {
      throw Problem(.unavailable, "the contract, \(path), cannot be read: install it anew")
    }
    do {
      document = try JSON(parsing: bytes).served(below: base)
    } catch {
      throw Problem(.unavailable, "the contract, \(path), cannot be read: \(error); install it anew")
    }
    self.base = base
    self.canTry = canTry
  }
}

extension Asset {
  init(_ markup: Markup) { self.init(markup.bytes, type: "text/html; charset=utf-8") }
}

extension Reply {
  /// The Content Security Policy of a page that needs no script.
  static let policy =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  static func page(_ asset: Asset, policy: String = policy) -> Reply {
    var reply = kept(asset)
    reply.headers.append(.init(name: "Content-Security-Policy", value: policy))
    return reply
  }

  /// The response with an asset that is public and does not change while this process lives.
  static func kept(_ asset: Asset) -> Reply {
    var reply = Reply(200, .asset(asset))
    reply.tag = asset.tag
    reply.headers = [.init(name: "Cache-Control", value: "no-cache")]
    return reply
  }
}

extension Problem.Kind {
  func page(below base: BasePath) -> Asset {
    Asset(
      Page.whole(
        title: title, below: base,
        body: """
          <header><p class="quiet"><a href="\(base.text)/docs">Vicinity</a> · <a href="\(base.text)/problems">Problems</a></p><h1>\(title)</h1>
          <p><code>\(rawValue)</code> <span class="status">\(String(status))</span></p></header>
          <p>\(explanation)</p>
          """))
  }
}

extension Problem.Kind {
  /// The page with all kinds, in the order of their status.
  static func index(below base: BasePath) -> Asset {
    let rows = allCases.sorted { ($0.status, $0.rawValue) < ($1.status, $1.rawValue) }.map { kind -> Markup in
      """
      <tr><th><a href="\(base.text)/problems/\(kind.rawValue)"><code>\(kind.rawValue)</code></a></th>
      <td><span class="status">\(String(kind.status))</span></td><td>\(kind.explanation)</td></tr>
      """
    }
    return Asset(
      Page.whole(
        title: "Problems", below: base,
        body: """
          <header><p class="quiet"><a href="\(base.text)/docs">Vicinity</a></p><h1>Problems</h1>
          <p>Errors are <code>application/problem+json</code> (RFC 9457). The <code>type</code> of a problem is the path of one of these pages.</p></header>
          <table>\(Markup(rows))</table>
          """))
  }
}

/// The frame of all pages of the gateway's own.
enum Page {
  static func whole(title: String, below base: BasePath, body: Markup) -> Markup {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark"><title>\(title)</title>
    <link rel="stylesheet" href="\(base.text)/docs/style.css"></head>
    <body><main>\(body)</main></body></html>

    """
  }
}

extension JSON {
  /// The contract with its paths below a base path, where that is not the root.
  fileprivate func served(below base: BasePath) -> JSON {
    guard case .object(let members) = self, !base.text.isEmpty else { return self }
    return .object(members.map { $0.name == "servers" ? .init($0.name, [["url": .text(base.text)]]) : $0 })
  }
}
