extension Problem {
  /// The client's role is too small for `what`; the detail says how to get a larger one.
  static func lacking(_ role: Role, _ client: ClientView, to what: String = "this", field: String? = nil) -> Problem {
    Problem(
      .forbidden,
      "\(what) needs the role '\(role.rawValue)', and this token has '\(client.role.rawValue)': "
        + pairAgain("--role \(role.rawValue)"),
      field: field, rule: "role")
  }

  /// The client may not change what belongs to the gateway's own peer.
  static func lackingOwnership(_ client: ClientView) -> Problem {
    lacking(.operator, client, to: "changing what belongs to the gateway's own peer")
  }

  /// The client's token is not for these scopes; the detail says how to get one that is.
  static func lacking(_ scopes: Scopes, _ client: ClientView, to what: String = "this") -> Problem {
    let options = scopes == .all ? "" : scopes.union(client.scopes).words.map { " --scope \($0)" }.joined()
    let needed = scopes == .all ? "all scopes" : "the scope \(quoted(scopes))"
    return Problem(
      .forbidden,
      "\(what) needs \(needed), and this token has \(quoted(client.scopes)): "
        + pairAgain("--role \(client.role.rawValue)\(options)"),
      rule: "scope")
  }

  private static func quoted(_ scopes: Scopes) -> String {
    scopes.words.map { "'\($0)'" }.joined(separator: ", ")
  }

  private static func pairAgain(_ options: String) -> String {
    "pair again with a code of 'vicinity pair \(options)' on the gateway's machine"
  }
}
