/// The page of the JavaScript client: how to load it, examples that run, and its types.
struct ClientReference {
  let package: ClientPackage
  let base: BasePath

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
      <section id="examples"><h2>Examples</h2>\(Markup(package.examples.map(show)))</section>
      <section id="types"><h2>Types</h2>\(Markup(package.types.map(show)))</section>
      <section id="files"><h2>Files</h2>\(files)</section>
      """
    return Page.whole(title: title, below: base, body: body)
  }

  private var introduction: Markup {
    Markup(
      prose: """
        Peers find each other, meet in sessions, and send messages, streams and files, in a browser or in Node. The client is a few ES modules without a dependency, and this gateway serves all of it: it works without the internet.

        - `on('message', …)` tells each event to any number of listeners; `for await` reads the same from `events('message')`.
        - A message that is sent while the gateway is away waits in the outbox, also over a reload of the page, and is sent exactly once.
        - The connection comes back by itself, after at most ten seconds. If events were missed meanwhile, `gap` says so.
        - What goes wrong is thrown as a `Problem` with the `kind` of the [problems](/problems) of the gateway.
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
      \(Markup(prose: "A page of this gateway, or one whose origin it was started with (`--origin`), names the client by an import map. Browsers that know `integrity` refuse a module that has changed; the path has the version, so that another version of the gateway does not change it unseen."))
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
