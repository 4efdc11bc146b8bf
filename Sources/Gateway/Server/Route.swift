internal import Web

/// An operation of the gateway: a method at a path.
struct Route: Sendable {
  enum Access: Sendable {
    case anyone
    case role(Role)
    /// Anyone on this machine itself or at an address that the operator allows; this role elsewhere.
    case nearby(Role)
  }

  enum BodyRule: Sendable {
    case none
    case json
    /// Any type, collected as a whole.
    case bytes(max: Int)
    /// Streamed: the work itself reads it.
    case live
  }

  enum Work: Sendable {
    case now(@Sendable (Core, Call) throws -> Reply)
    case later(@Sendable (Core, Call) async throws -> Reply)
    /// The first work, and where it gives nil, the second; for reads only.
    case nowOrLater(
      @Sendable (Core, Call) throws -> Reply?, @Sendable (Core, Call) async throws -> Reply)
    /// A page of the collection, its changes, or a stream of them; facets are its filters.
    case collection(facets: [Facet], @Sendable (Core, Call) throws -> Collection)
    /// Work that sends its response itself.
    case live(@Sendable (Core, Call, Exchange) throws -> Void)
    /// A WebSocket of this subprotocol, which authenticates by itself: a browser sends its token within.
    case socket(
      _ subprotocol: String,
      @Sendable (Core, Head, Route, _ captures: [String]) throws -> (any SocketOwner, SocketReading)
    )
  }

  let method: Method
  /// The pattern of its paths, such as `/v1/sessions/{session}/members`.
  let pattern: String
  let access: Access
  /// The scope that a token needs; nil where any token may.
  let scope: Scope?
  /// The names of its query parameters.
  let parameters: [String]
  let body: BodyRule
  let work: Work
  /// Its number among all routes; 0 is none of them.
  fileprivate(set) var number = 0

  init(
    _ method: Method, _ pattern: String, _ access: Access, parameters: [String] = [], body: BodyRule = .none,
    _ work: Work
  ) {
    self.method = method
    self.pattern = pattern
    self.access = access
    scope = Scope(of: pattern)
    self.body = body
    self.work = work
    if case .collection(let facets, _) = work {
      self.parameters = Listing.parameters + facets.map(\.name)
    } else {
      self.parameters = parameters
    }
  }
}

extension Method {
  var name: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other(let name): name
    }
  }
}

/// Finds the route of a path, segment by segment.
struct Router: Sendable {
  private final class Node: Sendable {
    let literals: [String: Node]
    let capture: Node?
    let routes: [Method: Route]

    init(_ routes: [(pattern: ArraySlice<String>, route: Route)]) {
      var here: [Method: Route] = [:]
      var below: [String: [(ArraySlice<String>, Route)]] = [:]
      var captured: [(ArraySlice<String>, Route)] = []
      for (pattern, route) in routes {
        guard let segment = pattern.first else {
          precondition(here.updateValue(route, forKey: route.method) == nil, "\(route.pattern) stands twice")
          continue
        }
        if segment.hasPrefix("{") {
          captured.append((pattern.dropFirst(), route))
        } else {
          below[segment, default: []].append((pattern.dropFirst(), route))
        }
      }
      self.routes = here
      literals = below.mapValues { Node($0.map { (pattern: $0.0, route: $0.1) }) }
      capture = captured.isEmpty ? nil : Node(captured.map { (pattern: $0.0, route: $0.1) })
    }
  }

  private let root: Node
  let routes: [Route]

  init(_ all: [Route]) {
    var routes = all
    for index in routes.indices { routes[index].number = index + 1 }
    self.routes = routes
    root = Node(routes.map { (pattern: $0.pattern.split(separator: "/").map(String.init)[...], route: $0) })
  }

  struct Match {
    let routes: [Method: Route]
    let captures: [String]

    /// The value of the Allow header.
    var methods: String {
      var names = routes.keys.map(\.name)
      if routes[.get] != nil { names.append("HEAD") }
      names.append("OPTIONS")
      return names.sorted().joined(separator: ", ")
    }

    subscript(method: Method) -> Route? { routes[method] ?? (method == .head ? routes[.get] : nil) }
  }

  func match(_ path: [String]) -> Match? {
    var node = root
    var captures: [String] = []
    captures.reserveCapacity(4)
    for segment in path {
      if let next = node.literals[segment] {
        node = next
      } else if let next = node.capture, !segment.isEmpty {
        captures.append(segment)
        node = next
      } else {
        return nil
      }
    }
    return node.routes.isEmpty ? nil : Match(routes: node.routes, captures: captures)
  }
}
