/// The page of the JavaScript client: how to load it, examples that run, and its types.
struct ClientReference {
  let package: ClientPackage
  let base: BasePath
  /// Whether the site has the module that runs the examples on the page.
  let canRun: Bool

  private var place: String { "\(base.text)/\(ClientPackage.place)" }

  var page: Markup {
    let title = "The JavaScript client"
    let body: Markup = """
      <header><h1>\(title)</h1><p class="quiet">Version \(Gateway.version) · <a href="\(base.text)/docs">REST</a></p>
      \(introduction)</header>
      <nav><ul><li><a href="#page">In a page</a></li><li><a href="#node">In Node</a></li>
      <li><a href="#examples">Examples</a></li><li><a href="#types">Types</a></li><li><a href="#files">Files</a></li></ul></nav>
      <section id="page"><h2>In a page</h2>\(importMap)</section>
      <section id="node"><h2>In Node</h2>\(node)</section>
      <section id="examples"><h2>Examples</h2>\(runner)\(Markup(package.examples.map(showExample)))</section>
      <section id="types"><h2>Types</h2>\(Markup(package.types.map(show)))</section>
      <section id="files"><h2>Files</h2>\(files)</section>
      """
    return Page.whole(title: title, below: base, body: body)
  }

  private var introduction: Markup {
    Markup(
      prose: """
        Peers find each other, meet in sessions, and send messages, streams and files, in a browser or in Node. The client is a few ES modules without a dependency, and this gateway serves all of it: it works without the internet.

        - `on('message', …)` adds a listener for an event; `events('message')` is the same as an async iterator, for `for await`.
        - A message that is sent while the gateway is away waits in the outbox, also over a reload of the page, and is sent exactly once.
        - The client reconnects automatically, with exponential backoff and jitter, capped at ten seconds. If events were missed meanwhile, it emits `gap`.
        - Methods throw a `Problem`; its `kind` is one of the gateway's [problem kinds](/problems).
        """, below: base.text)
  }

  private var importMap: Markup {
    let hashes = package.modules.map { "    \"\(place)/\($0.path)\": \"\($0.integrity)\"" }.joined(separator: ",\n")
    let map = """
      <script type="importmap">
      {
        "imports": { "vicinity-client": "\(place)/vicinity.js" },
        "integrity": {
      \(hashes)
        }
      }
      </script>
      <script type="module" src="my-page.js"></script>
      """
    return """
      \(Markup(prose: "A page of this gateway, or of an origin that `--origin` allows, loads the client by an import map. Browsers that support `integrity` in import maps reject a changed module. The path includes the version, so an update of the gateway does not silently change the client."))
      <pre>\(map)</pre>
      """
  }

  private var node: Markup {
    let address = "http://localhost:7777\(place)/\(ClientPackage.archiveName)"
    return """
      <pre>npm install \(address)</pre>
      \(Markup(prose: "Node 18 and later run it. Node before version 22 has no WebSocket: install the package `ws` as well, and pass its class, as in `new Vicinity(address, { WebSocket })`. Without npm, `tar` unpacks the same archive."))
      """
  }

  // MARK: Running examples

  /// The examples import the client by its name, which stands for the module that runs them.
  private var runMap: Markup {
    let map = "{\"imports\": {\"vicinity-client\": \"\(base.text)/\(Site.runPath)\"}}"
    return Markup(stringLiteral: map)
  }

  /// The Content Security Policy of the page: scripts of this gateway alone, and the map by its hash.
  var policy: String {
    if !canRun { return Reply.policy }
    let map = ClientPackage.File(path: "", bytes: runMap.bytes).integrity
    return Reply.policy + "; script-src 'self' '\(map)'; connect-src 'self' ws: wss:"
  }

  private var runner: Markup {
    if !canRun { return "" }
    return """
      <script type="importmap">\(runMap)</script>
      <script type="module" src="\(base.text)/\(Site.runPath)"></script>
      <p>Each example runs here, at this gateway: run it twice, or two that belong together, such as answer and invite.
      <span id="join"><a href="\(base.text)/">Join this gateway</a> first.</span></p>
      <div class="output"><pre id="output" role="log" aria-label="Output" tabindex="0"></pre><button id="stop">Stop all</button></div>
      """
  }

  private func showExample(_ file: ClientPackage.File) -> Markup {
    let run: Markup =
      canRun ? "<button disabled data-run=\"\(place)/\(file.path)\" aria-label=\"Run \(file.path)\">Run</button>" : ""
    return "\(show(file))\(run)"
  }

  private func show(_ file: ClientPackage.File) -> Markup {
    "<h3><a href=\"\(place)/\(file.path)\">\(file.path)</a></h3><pre>\(file.text)</pre>"
  }

  private var files: Markup {
    let rows = package.files.map { file -> Markup in
      "<tr><th><a href=\"\(place)/\(file.path)\">\(file.path)</a></th><td><code>\(file.integrity)</code></td></tr>"
    }
    return "<table>\(Markup(rows))</table>"
  }
}
