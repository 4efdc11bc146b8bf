/// A URL of a file (RFC 8089).
public enum FileURL {
  /// The local path; nil where the URL is of another scheme.
  public static func path(of text: String) throws(WebError) -> String? {
    let (scheme, rest) = WebURL.scheme(of: text)
    guard scheme == "file" else { return nil }
    let isLong = rest.hasPrefix("//")
    let host = isLong ? rest.dropFirst(2).prefix { $0 != "/" } : ""
    guard host.isEmpty || host.lowercased() == "localhost" else {
      throw .invalidURL("it is of a file on “\(host)”, and files of this machine alone are read, as file:///PATH")
    }
    let written = rest.dropFirst(isLong ? 2 + host.count : 0)
    guard written.hasPrefix("/") else { throw .invalidURL("its path does not begin with a slash, as in file:///PATH") }
    if written.contains(where: { $0 == "?" || $0 == "#" }) {
      throw .invalidURL("a file has no query and no fragment: in a name, “?” is %3F and “#” is %23")
    }
    guard let path = unescaped(written), !path.utf8.contains(0) else {
      throw .invalidURL("its percent signs make no path: each stands before two hexadecimal digits, % itself is %25")
    }
    return path
  }
}
