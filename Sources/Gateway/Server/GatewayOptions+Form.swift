internal import Reactor

extension GatewayOptions {
  /// The required form of a text option.
  public enum Form: Hashable, Sendable, CustomStringConvertible {
    case hostName
    case origin
    case addresses
    /// An address to listen at.
    case listenAddress
    case basePath

    public func has(_ text: String) -> Bool {
      switch self {
      case .hostName: Self.isHost(text)
      case .origin: Self.isOrigin(text)
      case .addresses: AddressRange(text) != nil
      case .listenAddress: (try? SocketAddress(textOfPlace: text)) != nil
      case .basePath: !text.isEmpty && BasePath(text) != nil
      }
    }

    public var description: String {
      switch self {
      case .hostName: "a name without a port, such as gateway.example"
      case .origin: "an origin as browsers say it, without a path, such as https://stage.example"
      case .listenAddress: "an address of this machine, such as 10.0.0.5, ::1 or 10.0.0.5:7777"
      case .basePath:
        "a path of at most \(BasePath.bytesMax) bytes, such as /vicinity: a slash, then letters, digits and -._~, and one "
          + "slash between its parts, of which the first is none of the gateway's own, such as v1"
      case .addresses: "an address or a range of them, such as 10.0.0.0/8"
      }
    }

    private static func isHost(_ text: some StringProtocol) -> Bool {
      !text.isEmpty && text.utf8.count <= 253
        && text.utf8.allSatisfy { letters.contains($0) || digits.contains($0) || "-._".utf8.contains($0) }
    }

    private static func isOrigin(_ text: String) -> Bool {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      // Browsers send it in lower case.
      guard parts.count == 3, parts[1].isEmpty, parts[0].count > 1, parts[0].last == ":", text == text.lowercased()
      else {
        return false
      }
      if parts[2].first == "[" { return parts[2].contains("]") }
      let host = parts[2].split(separator: ":", omittingEmptySubsequences: false)
      return isHost(host[0]) && host.count <= 2 && (host.count == 1 || UInt16(host[1]) != nil)
    }

    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
  }
}
